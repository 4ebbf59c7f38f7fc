/**
 * A bytea in the JSON parameter of a statement that writes several rows. JSON omits undefined members, and Postgres reads them as
 * null. One JSON parameter instead of an array for each column saves 5 KB per exchange (docs/performance.md,
 * `npm run bench:gates`).
 */
export const toBytea = (bytes: Buffer): string => `\\x${bytes.toString('hex')}`
