/**
 * When the last token of grant `g` ends. A refresh changes `extended_until` and not `expires_at`, which has an index: its update
 * then writes to no index.
 */
export const GRANT_EXPIRES_AT = 'greatest(g.expires_at, g.extended_until)'
