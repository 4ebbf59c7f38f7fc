import type { AdministrationEventName } from '../../platform/audit/audit-trail.js'
import type { AuditNote } from '../../storage/postgres/audited.js'
import type { Author } from './actor.js'

export type ChangeEvent = {
  event: AdministrationEventName
  clientId?: string | undefined
  userId?: string | undefined
  /** Further members of the audit event; never a secret, a hash or a password. */
  details?: Readonly<Record<string, unknown>>
}

/**
 * Makes a change with its audit event in one transaction, and logs it afterwards.
 * @param make passes the note to the store; returns undefined or false if nothing was changed
 * @param detailsOf members that the store added to the event, for the log
 */
export async function recordChange<Outcome>(
  { event, clientId, userId, details }: ChangeEvent,
  author: Author,
  make: (note: AuditNote) => Promise<Outcome>,
  detailsOf: (outcome: Outcome) => Readonly<Record<string, unknown>> = () => ({})
): Promise<Outcome> {
  const { actor, requestId, address, log } = author
  const kept = { ...details, actor }
  // Operators send no trace contexts: their listener reads none.
  const note = { event, requestId, traceId: undefined, clientId, userId, address, details: kept }
  const outcome = await make(note)
  if (outcome !== undefined && outcome !== false) {
    log?.info({ event, clientId, userId, address, ...kept, ...detailsOf(outcome) }, event.replaceAll('_', ' '))
  }
  return outcome
}
