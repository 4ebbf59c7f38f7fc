import type { AdministrationEventName } from '../audit/audit-trail.js'
import type { AuditNote } from '../storage/audited.js'
import type { Author } from './actor.js'

export type ChangeEvent = {
  event: AdministrationEventName
  clientId?: string | undefined
  userId?: string | undefined
  /** What else of it is kept: never a secret, a hash or a password. */
  details?: Readonly<Record<string, unknown>>
}

/**
 * Makes a change together with its audit entry, and says so in the log once both are there.
 * @param make hands the note to the store; undefined or false says that nothing was changed
 */
export async function recordChange<Outcome>(
  { event, clientId, userId, details }: ChangeEvent,
  { author, now }: { author: Author; now: Date },
  make: (note: AuditNote) => Promise<Outcome>
): Promise<Outcome> {
  const { actor, requestId, address, log } = author
  const kept = { ...details, actor }
  const note = { occurredAt: now, event, requestId, clientId, userId, address, details: kept }
  const outcome = await make(note)
  if (outcome !== undefined && outcome !== false) {
    log?.info({ event, clientId, userId, address, ...kept }, event.replaceAll('_', ' '))
  }
  return outcome
}
