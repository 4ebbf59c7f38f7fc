import type { Database } from '@valetkey/service-kit'

/** A user (`sub`, its id) or a client (`client_id`). */
type Holder = { member: 'sub' | 'client_id'; value: string }

// One look into an index for each name and audience, however many grants there are: `limit 1` keeps the plan to that. A user
// has few grants; the empty text keeps grants_client_id from being searched for a user's.
const STATEMENT = `
  select 'sub' as member, held.value::text as value, asked.audience
  from unnest($1::uuid[]) as held (value) cross join unnest($3::text[]) as asked (audience)
  cross join lateral
    (select 1 from grants g where g.user_id = held.value and g.audience || '' = asked.audience limit 1) as one
  union all
  select 'client_id', held.value, asked.audience
  from unnest($2::text[]) as held (value) cross join unnest($3::text[]) as asked (audience)
  cross join lateral
    (select 1 from grants g where g.client_id = held.value and g.audience = asked.audience limit 1) as one`

/** For which audiences users and clients have grants, ended ones included, as of now. */
export function createGrantedAudiences(database: Database) {
  return {
    /** @throws also when a user id is no UUID */
    async find(
      holders: readonly Holder[],
      audiences: readonly string[]
    ): Promise<{ has(holder: Holder, audience: string): boolean }> {
      const of = (member: Holder['member']) => [
        ...new Set(holders.filter((holder) => holder.member === member).map(({ value }) => value))
      ]
      const rows = await database.query<Holder & { audience: string }>({
        name: 'find_granted_audiences',
        text: STATEMENT,
        values: [of('sub'), of('client_id'), audiences]
      })
      const found = new Set(rows.map(({ member, value, audience }) => keyOf({ member, value }, audience)))
      return { has: (holder, audience) => found.has(keyOf(holder, audience)) }
    }
  }
}

export type GrantedAudiences = ReturnType<typeof createGrantedAudiences>

function keyOf({ member, value }: Holder, audience: string): string {
  return JSON.stringify([member, value, audience])
}
