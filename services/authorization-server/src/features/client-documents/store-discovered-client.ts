import type { AdministrationEventName, AuditedRequest } from '../../platform/audit/audit-trail.js'
import type { Limiter } from '../../platform/rate-limits/limiter.js'
import { newClientLimit } from '../../platform/rate-limits/rules.js'
import type { AuditNote } from '../../storage/postgres/audited.js'
import type { NewClient } from '../../storage/postgres/clients.js'
import type { DiscoveredClientStore } from './discovered-client-store.js'

/** Another Allow can change the row between two statements; each attempt reads it again. */
const ATTEMPTS = 5

/**
 * Stores what the document of an allowed client says, with an audit entry about what is new.
 * @throws {TooManyAttempts} if the client is new, and the user has allowed too many new ones today
 */
export async function storeDiscoveredClient(
  client: NewClient,
  userId: string,
  { discovered: store, limiter }: { discovered: DiscoveredClientStore; limiter: Pick<Limiter, 'count'> },
  audited: AuditedRequest
): Promise<void> {
  const { clientId } = client
  let isCounted = false
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const found = await store.findVersion(clientId)
    if (found === undefined) {
      if (!isCounted) await limiter.count(newClientLimit(userId))
      isCounted = true
      const details = { name: client.name, redirectUris: client.redirectUris }
      const note = noteOf('client_discovered', clientId, userId, details, audited)
      if (await store.create(client, note)) return log(note, audited)
      continue
    }
    const changes = changesOf(found, client)
    if (Object.keys(changes).length === 0) {
      // Housekeeping may delete a row that no user has allowed for a day, before the code of this Allow is exchanged.
      if (!found.isNoteDue || (await store.noteAllowed(clientId))) return
      continue
    }
    const note = noteOf('client_document_changed', clientId, userId, { changes }, audited)
    if (await store.update(client, found.version, note)) return log(note, audited)
  }
  throw new Error('the client is being changed by too many others')
}

type Described = Pick<NewClient, 'name' | 'redirectUris' | 'lifetimes'>

/** The changed members, with old and new value. The size of a document bounds both. */
function changesOf(before: Described, after: Described): Record<string, { from: unknown; to: unknown }> {
  const member = (name: string, from: unknown, to: unknown) =>
    JSON.stringify(from) === JSON.stringify(to) ? {} : { [name]: { from, to } }
  const [from, to] = [before.lifetimes?.refreshTokenMax, after.lifetimes?.refreshTokenMax]
  return {
    ...member('client_name', before.name, after.name),
    ...member('redirect_uris', before.redirectUris, after.redirectUris),
    ...member('refresh_token_max_ttl', from, to)
  }
}

function noteOf(
  event: Extract<AdministrationEventName, 'client_discovered' | 'client_document_changed'>,
  clientId: string,
  userId: string,
  details: Readonly<Record<string, unknown>>,
  { id: requestId, ip: address, trustedTrace }: AuditedRequest
): AuditNote {
  return { event, requestId, traceId: trustedTrace?.traceId, clientId, userId, address, details }
}

function log({ event, clientId, userId, address, details }: AuditNote, audited: AuditedRequest): void {
  audited.log.info({ event, clientId, userId, address, ...details }, event.replaceAll('_', ' '))
}
