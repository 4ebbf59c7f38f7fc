import type { AuditNote } from '../../src/storage/postgres/audited.js'

/** For tests of stores, to which it is all the same who makes a change. */
export const NOTE: AuditNote = {
  event: 'test',
  requestId: undefined,
  clientId: undefined,
  userId: undefined,
  address: undefined,
  details: {}
}
