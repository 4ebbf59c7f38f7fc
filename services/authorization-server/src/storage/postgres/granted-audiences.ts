import { type Database, defineStatement } from '@valetkey/service-kit'

/** A user (`sub`, its id) or a client (`client_id`). */
type Holder = { member: 'sub' | 'client_id'; value: string }

// `limit 1` makes Postgres do one index lookup for each holder and audience, for any number of grants. The appended empty text
// prevents a search of the index grants_client_id for the few grants of a user.
const findAudiences = defineStatement(
  'find_granted_audiences',
  `select 'sub' as member, holder.value::text as value, wanted.audience
  from unnest(:userIds::uuid[]) as holder (value) cross join unnest(:audiences::text[]) as wanted (audience)
  cross join lateral
    (select 1 from grants g where g.user_id = holder.value and g.audience || '' = wanted.audience limit 1) as one
  union all
  select 'client_id', holder.value, wanted.audience
  from unnest(:clientIds::text[]) as holder (value) cross join unnest(:audiences::text[]) as wanted (audience)
  cross join lateral
    (select 1 from grants g where g.client_id = holder.value and g.audience = wanted.audience limit 1) as one`
)

/** The store of the audiences for which users and clients have grants, including ended ones. */
export function createGrantedAudiences(database: Database) {
  return {
    /** @throws also if a user id is not a UUID */
    async find(
      holders: readonly Holder[],
      audiences: readonly string[]
    ): Promise<{ has(holder: Holder, audience: string): boolean }> {
      const of = (member: Holder['member']) => [
        ...new Set(holders.filter((holder) => holder.member === member).map(({ value }) => value))
      ]
      const statement = findAudiences({ userIds: of('sub'), clientIds: of('client_id'), audiences })
      const rows = await database.query<Holder & { audience: string }>(statement)
      const found = new Set(rows.map(({ member, value, audience }) => keyOf({ member, value }, audience)))
      return { has: (holder, audience) => found.has(keyOf(holder, audience)) }
    }
  }
}

export type GrantedAudiences = ReturnType<typeof createGrantedAudiences>

function keyOf({ member, value }: Holder, audience: string): string {
  return JSON.stringify([member, value, audience])
}
