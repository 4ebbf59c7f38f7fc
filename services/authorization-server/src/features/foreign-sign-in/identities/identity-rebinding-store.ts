import { type Database, defineStatement, isUniqueViolation, LONG_STATEMENT_MS } from '@valetkey/service-kit'
import { type AuditNote, defineChange } from '../../../storage/postgres/audited.js'

/** One identity that gets another subject. */
export type Rebinding = { from: string; to: string }

/** `known`: the old identity is linked. `taken`: the new one is linked already. */
export type RebindingState = { known: boolean; taken: boolean }

export type Issuers = { issuer: string; newIssuer: string }

const examineRebindings = defineStatement(
  'examine_rebindings',
  `select old.subject is not null as known, new.subject is not null as taken
  from unnest(:from::text[], :to::text[]) with ordinality as input (from_subject, to_subject, number)
  left join identities old on old.issuer = :issuer and old.subject = input.from_subject
  left join identities new on new.issuer = :newIssuer and new.subject = input.to_subject
  order by input.number`
)

// The condition reads all of "gone" before the first row is inserted: a new subject may be another's old one.
const rebindIdentities = defineChange(
  'rebind_identities',
  `input as (select * from unnest(:from::text[], :to::text[]) as rows (from_subject, to_subject)),
  found as (
    select identities.subject from identities join input on issuer = :issuer and subject = from_subject
    order by subject for update of identities),
  gone as (
    delete from identities using input
    where (select count(*) from found) = :count and issuer = :issuer and subject = from_subject
    returning to_subject, user_id, created_at, last_used_at),
  changed as (
    insert into identities (issuer, subject, user_id, created_at, last_used_at)
    select :newIssuer, to_subject, user_id, created_at, last_used_at from gone where (select count(*) from gone) = :count
    returning user_id)`,
  { result: 'select count(*)::int as count from changed' }
)

export function createIdentityRebindingStore(database: Database) {
  return {
    /** The state of each identity, in the given order. */
    async examine(rebindings: readonly Rebinding[], { issuer, newIssuer }: Issuers): Promise<RebindingState[]> {
      const statement = examineRebindings({ issuer, newIssuer, ...subjectsOf(rebindings) })
      return database.query<RebindingState>({ ...statement, withinMs: LONG_STATEMENT_MS })
    },

    /** @returns how many identities of the issuer there are */
    async count(issuer: string): Promise<number> {
      const [row] = await database.query<{ count: number }>({
        name: 'count_identities',
        text: 'select count(*)::int as count from identities where issuer = $1',
        values: [issuer]
      })
      return row?.count ?? 0
    },

    /**
     * Gives all these identities their new subjects, or none of them. Two identities may exchange their subjects.
     * @returns false if one was unlinked or linked meanwhile; then nothing was changed
     */
    async rebind(rebindings: readonly Rebinding[], { issuer, newIssuer }: Issuers, note: AuditNote): Promise<boolean> {
      const values = { issuer, newIssuer, ...subjectsOf(rebindings), count: rebindings.length }
      try {
        const statement = { ...rebindIdentities(values, note), withinMs: LONG_STATEMENT_MS }
        const [row] = await database.query<{ count: number }>(statement)
        return row?.count === rebindings.length
      } catch (error) {
        if (isUniqueViolation(error)) return false
        throw error
      }
    }
  }
}

function subjectsOf(rebindings: readonly Rebinding[]) {
  return { from: rebindings.map(({ from }) => from), to: rebindings.map(({ to }) => to) }
}

export type IdentityRebindingStore = ReturnType<typeof createIdentityRebindingStore>
