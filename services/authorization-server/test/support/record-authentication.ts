import { createRecordAuthentication } from '../../src/platform/encryption/authenticate-records.js'

/** Record authentication for tests, and the kinds of records that failed the check. */
export function newRecordAuthentication(keys: readonly string[] = ['a'.repeat(32)]) {
  const forged: string[] = []
  return { records: createRecordAuthentication(keys, (kind) => forged.push(kind)), forged }
}
