/**
 * When the last token of grant `g` expires. A refresh changes `extended_until`, because `expires_at` has an index: so the update
 * writes to no index (`statement-costs.test.ts`; WAL bytes in `npm run bench:gates`).
 */
export const GRANT_EXPIRES_AT = 'greatest(g.expires_at, g.extended_until)'
