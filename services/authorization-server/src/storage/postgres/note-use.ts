import type { Statement } from '@valetkey/service-kit'

/**
 * Writes when rows were last used, by their keys. A time before the stored one changes nothing; a time in the future counts as
 * now.
 *
 * `locked` contains the time, because a second join with the list of times would compare each row with all of them. `for no key
 * update` does not block statements that only refer to a row, such as new tokens of a grant. The order of locks prevents
 * deadlocks.
 * @param of.order the column by which all statements that lock rows of this table order them
 * @param of.apart a Postgres interval: uses so soon after the stored time are not written
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
    text: `with locked as (
        select t.${key}, least(u.used_at, now()) as used_at
        from unnest($1::${type}[], $2::timestamptz[]) as u (${key}, used_at)
        join ${table} t on t.${key} = u.${key}
          and (t.last_used_at is null or t.last_used_at < least(u.used_at, now()) - interval '${apart}')
        order by t.${order} for no key update of t)
      update ${table} t set last_used_at = locked.used_at from locked where t.${key} = locked.${key}`,
    values: [[...uses.keys()], [...uses.values()]]
  }
}
