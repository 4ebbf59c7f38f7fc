/**
 * Joins `remaining`: what is left of a scope that a user allowed client `c`, by the registration as it is now, in the order of the
 * scope; null if nothing is left (ADR 0041). A scope is left if it is still the one that the user allowed (`scopes.number`), the
 * client has it, and the client may use the API.
 * @param allowed alias of the row with what the user allowed: `audience` and `newest_scope`
 * @param scope expression of the scope, an array of names
 */
export const remainingScope = (allowed: string, scope = `${allowed}.scope`) => `cross join lateral (
    select array_agg(named.name order by named.position) as scope
    from unnest(${scope}) with ordinality as named (name, position)
    join scopes s on s.name = named.name and s.number <= ${allowed}.newest_scope
    where (c.audiences = '{}' or ${allowed}.audience = any (c.audiences))
      and case c.origin when 'discovered' then s.is_discoverable
        else s.name = any (c.required_scopes) or s.name = any (c.optional_scopes) end
  ) as remaining`
