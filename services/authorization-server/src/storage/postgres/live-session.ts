/** The session in which a user changes the own account. */
export type ActingSession = { userId: string; sessionHash: string }

/** The key of a session's row. @param hash SQL of the hash of its id, in base64url */
export const sessionKey = <const Hash extends string>(hash: Hash) =>
  `decode(translate(${hash}, '-_', '+/') || '=', 'base64')` as const

/** Whether session `s` has not ended by its times. Whatever else ends it deletes its row. */
export const IS_LIVE = `s.ends_at > now() and s.seen_at > now() - interval '12 hours'` as const

/** Whether the use of session `s` is to be written: at most every five minutes. */
export const IS_USE_DUE = `s.seen_at < now() - interval '5 minutes'` as const

/**
 * The enabled user of a session, unless it has ended. The locks make the changes of a user and the end of the session take effect
 * one after the other: a statement that had to wait sees whether the row of the session was deleted meanwhile. The user is locked
 * first, as in every statement that ends several sessions.
 */
export const ACTING_USER = `select u.user_id from users u join sessions s on s.user_id = u.user_id
    where s.session_hash = ${sessionKey(':sessionHash')} and ${IS_LIVE}
      and u.user_id = :userId and u.disabled_at is null
    for no key update of u for key share of s` as const
