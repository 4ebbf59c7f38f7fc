import type { AuditNote } from '../../src/storage/audited.js'

/** For tests of stores, to which it is all the same who makes a change. */
export const NOTE: AuditNote = {
  occurredAt: new Date('2026-11-21T08:00:00Z'),
  event: 'test',
  requestId: undefined,
  clientId: undefined,
  userId: undefined,
  address: undefined,
  details: {}
}
