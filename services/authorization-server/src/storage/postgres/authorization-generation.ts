/**
 * The generation of the authorization that user `u` gave client `c`; `n` is their row in `authorizations`, if any (ADR 0005). Grants,
 * codes and remembered consents contain a copy and are valid only while the copy equals this.
 */
export const AUTHORIZATION_GENERATION =
  'u.authorization_generation + c.authorization_generation + coalesce(n.generation, 0)'

/** Joins for grants `g`; together with the condition `AUTHORIZED`, it selects grants that no generation has ended. */
export const BY_GENERATIONS = `join users u on u.user_id = g.user_id and u.generation = g.user_generation
  join clients c on c.client_id = g.client_id and c.generation = g.client_generation
  left join authorizations n on n.user_id = g.user_id and n.client_id = g.client_id`
export const AUTHORIZED = `${AUTHORIZATION_GENERATION} = g.authorization_generation`

/** Joins for consents `r`, and the condition that they are valid: remembered under the current generation, and not over. */
export const REMEMBERED_BY = `join users u on u.user_id = r.user_id join clients c on c.client_id = r.client_id
  left join authorizations n on n.user_id = r.user_id and n.client_id = r.client_id`
/** Condition for consents `r`: the end that the user chose, if any, is still to come. */
export const NOT_OVER = '(r.ends_at is null or r.ends_at > now())'
export const STILL_REMEMBERED = `r.scope <> '{}' and ${AUTHORIZATION_GENERATION} = r.authorization_generation
  and ${NOT_OVER}`

/** Ends the authorization of the client by the user: grants, codes and remembered consents, for all APIs. */
export const RAISE_OF_PAIR = `insert into authorizations (user_id, client_id, generation)
  select u.user_id, c.client_id, 1 from users u cross join clients c
  where u.user_id = :userId and c.client_id = :clientId
  on conflict (user_id, client_id) do update set generation = authorizations.generation + 1`
/** Ends all authorizations by the user. */
export const RAISE_OF_USER =
  'update users set authorization_generation = authorization_generation + 1 where user_id = :userId'

/**
 * The generation of a new row of a client. Grants and codes outlive the row of a deleted client, and a later row with the same id
 * must not make them valid again. The number is random: rows can be created again within one second, and clocks can be set back.
 */
export const FIRST_GENERATION_OF_CLIENT = 'floor(random() * 1000000000)::integer'
