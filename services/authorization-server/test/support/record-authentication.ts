import { createRecordAuthentication } from '../../src/platform/encryption/authenticate-records.js'

/** What authenticates records in Redis, and the kinds of record that failed the check. */
export function newRecordAuthentication(keys: readonly string[] = ['a'.repeat(32)]) {
  const forged: string[] = []
  return { records: createRecordAuthentication(keys, (kind) => forged.push(kind)), forged }
}
