import type { Statement } from '@valetkey/service-kit'

/**
 * Writes when rows were last used, each found by its key; an older time than the one stored changes nothing, and one in
 * the future counts as the present.
 *
 * The time travels with the row that was found: joined once more to the list of times, each would be held against all of
 * them. Whoever only refers to a row, as new tokens do to their grant, need not wait; and whoever locks several does so in
 * the same order, so that no two wait for each other.
 * @param of.order the column in whose order rows of this table are locked
 * @param of.apart an interval of Postgres: a use so soon after the stored one is not written
 */
export function noteUseIn(
  {
    name,
    table,
    key,
    type,
    order,
    apart = '0'
  }: { name: string; table: string; key: string; type: 'uuid' | 'text'; order: string; apart?: string },
  uses: ReadonlyMap<string, Date>
): Statement {
  return {
    name,
    text: `with held as (
        select t.${key}, least(u.used_at, now()) as used_at
        from unnest($1::${type}[], $2::timestamptz[]) as u (${key}, used_at)
        join ${table} t on t.${key} = u.${key}
          and (t.last_used_at is null or t.last_used_at < least(u.used_at, now()) - interval '${apart}')
        order by t.${order} for no key update of t)
      update ${table} t set last_used_at = held.used_at from held where t.${key} = held.${key}`,
    values: [[...uses.keys()], [...uses.values()]]
  }
}
