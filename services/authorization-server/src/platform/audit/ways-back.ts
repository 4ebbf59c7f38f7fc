/** Why a page or a form led back to an earlier step. */
export const WAYS_BACK = [
  /** The page of the form was shown to another session, or too long ago. */
  'stale_form',
  /** The browser did not send our cookie. */
  'no_cookie',
  /** The cookie names a session that does not exist: it has expired, or something has ended it. */
  'unknown_session',
  /** The session has ended during the request. */
  'session_ended',
  /** A change of the account needs a new sign-in. */
  'sign_in_too_old',
  /** The browser has no session, and names none. */
  'not_signed_in',
  /** The pending authorization request has expired, was decided, or belongs to another browser or session. */
  'not_pending',
  /** The client or the request has changed since the page was shown. */
  'question_changed',
  /** The form has neither Allow nor Deny. */
  'no_decision',
  /** Another request with the same form came first. */
  'decided_before'
] as const

export type WayBack = (typeof WAYS_BACK)[number]
