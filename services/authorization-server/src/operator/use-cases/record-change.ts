import type { AdministrationEventName } from '../../platform/audit/audit-trail.js'
import type { AuditNote } from '../../storage/postgres/audited.js'
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
 * @param detailsOf what the store found out and wrote into the entry, for the log as well
 */
export async function recordChange<Outcome>(
  { event, clientId, userId, details }: ChangeEvent,
  author: Author,
  make: (note: AuditNote) => Promise<Outcome>,
  detailsOf: (outcome: Outcome) => Readonly<Record<string, unknown>> = () => ({})
): Promise<Outcome> {
  const { actor, requestId, address, log } = author
  const kept = { ...details, actor }
  const note = { event, requestId, clientId, userId, address, details: kept }
  const outcome = await make(note)
  if (outcome !== undefined && outcome !== false) {
    log?.info({ event, clientId, userId, address, ...kept, ...detailsOf(outcome) }, event.replaceAll('_', ' '))
  }
  return outcome
}
