/**
 * The keys that an access token and its refresh token are bound to, as SHA-256 thumbprints (RFC 7638), the `jkt` of RFC 9449 §6.1.
 * Undefined: the token is bound to no key.
 */
export type TokenKeys = { accessToken: string | undefined; refreshToken: string | undefined }
