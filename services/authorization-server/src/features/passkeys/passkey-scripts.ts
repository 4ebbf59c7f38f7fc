/** Assets of a page with passkeys, in the order in which they run. */
export const PASSKEY_SCRIPTS = ['webauthn.js', 'passkey.js']
