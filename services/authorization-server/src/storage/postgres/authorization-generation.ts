/**
 * The generation of the authorization that user `u` gave client `c`; `r` is the row of consents of the two, if there is one
 * (ADR 0005). A grant, a code and a remembered consent hold a copy and give access only while the copy equals this.
 */
export const AUTHORIZATION_GENERATION =
  'u.authorization_generation + c.authorization_generation + coalesce(r.generation, 0)'

/** Joins to grants `g`, and with `AUTHORIZED` in the condition: the grants that no generation has ended. */
export const BY_GENERATIONS = `join users u on u.user_id = g.user_id and u.generation = g.user_generation
  join clients c on c.client_id = g.client_id and c.generation = g.client_generation
  left join consents r on r.user_id = g.user_id and r.client_id = g.client_id`
export const AUTHORIZED = `${AUTHORIZATION_GENERATION} = g.authorization_generation`

/** Joins to consents `r`, and the condition that they count: they were remembered under the present generation. */
export const REMEMBERED_BY = 'join users u on u.user_id = r.user_id join clients c on c.client_id = r.client_id'
export const STILL_REMEMBERED = `r.scope <> '{}' and ${AUTHORIZATION_GENERATION} = r.authorization_generation`

/** Ends all that user $1 allowed client $2: grants, codes and the remembered consent. */
export const RAISE_OF_PAIR = `insert into consents (user_id, client_id, scope, granted_at, generation)
  select u.user_id, c.client_id, '{}', now(), 1 from users u cross join clients c
  where u.user_id = $1 and c.client_id = $2
  on conflict (user_id, client_id) do update set scope = '{}', generation = consents.generation + 1`
/** Ends all that user $1 allowed any client. */
export const RAISE_OF_USER =
  'update users set authorization_generation = authorization_generation + 1 where user_id = $1'
