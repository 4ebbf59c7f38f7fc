/**
 * A change of passwords, passkeys, linked identities or client secrets needs a sign-in within this time: here, or at the
 * provider that the user has to sign in at again. The message `developer.form_sign_in` names it.
 */
export const FRESH_SIGN_IN_SECONDS = 300
