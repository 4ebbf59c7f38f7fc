import { expect, test } from '@jest/globals'
import { auditEventsOf, CORE_EVENTS } from '../../../src/platform/audit/audit-event.js'

test('the audit events are those of the core and of each feature that has some', () => {
  const features = [
    { auditEvents: { note_added: 'decision' } },
    {},
    { auditEvents: { note_refused: { refusal: [] } } }
  ] as const
  expect(auditEventsOf(features)).toEqual({
    ...CORE_EVENTS,
    note_added: 'decision',
    note_refused: { refusal: [] }
  })
  expect(CORE_EVENTS).not.toHaveProperty('note_added')
})
