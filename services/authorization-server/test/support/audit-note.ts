import type { AuditNote } from '../../src/storage/postgres/audited.js'

/** The note of tests of stores, which do not depend on the actor. */
export const NOTE: AuditNote = {
  event: 'test',
  requestId: undefined,
  traceId: undefined,
  clientId: undefined,
  userId: undefined,
  address: undefined,
  details: {}
}
