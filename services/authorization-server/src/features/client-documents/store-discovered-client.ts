import { isDeepStrictEqual } from 'node:util'
import type { AdministrationEventName, AuditedRequest } from '../../platform/audit/audit-trail.js'
import type { Limiter } from '../../platform/rate-limits/limiter.js'
import { newClientLimit } from '../../platform/rate-limits/rules.js'
import type { AuditNote } from '../../storage/postgres/audited.js'
import type { NewClient } from '../../storage/postgres/clients.js'
import type { DescribedClient, DiscoveredClientStore } from './discovered-client-store.js'

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
      const { name, redirectUris, privateKeyJwt, jwksUri, dpopBound } = client
      const details = { name, redirectUris, privateKeyJwt, jwksUri, dpopBound }
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

/** The changed members, with old and new value. The size of a document bounds both. */
function changesOf(before: DescribedClient, after: DescribedClient): Record<string, { from: unknown; to: unknown }> {
  const member = (name: string, from: unknown, to: unknown) =>
    JSON.stringify(from) === JSON.stringify(to) ? {} : { [name]: { from, to } }
  const [from, to] = [before.lifetimes?.refreshTokenMax, after.lifetimes?.refreshTokenMax]
  return {
    ...member('client_name', before.name, after.name),
    ...member('redirect_uris', before.redirectUris, after.redirectUris),
    ...member('private_key_jwt', before.privateKeyJwt, after.privateKeyJwt),
    ...member('jwks_uri', before.jwksUri, after.jwksUri),
    ...member('token_endpoint_auth_signing_alg', before.assertionAlgorithm, after.assertionAlgorithm),
    ...member('dpop_bound_access_tokens', before.dpopBound === true, after.dpopBound === true),
    ...keysMember(before, after),
    ...member('refresh_token_max_ttl', from, to)
  }
}

/** Keys by their `kid`. Keys that were fetched after the document, for an unknown `kid`, stay. */
function keysMember(before: DescribedClient, after: DescribedClient): Record<string, { from: unknown; to: unknown }> {
  const [from, to] = [before.keys?.fetched, after.keys?.fetched]
  const isOlder = from !== undefined && to !== undefined && from.at >= to.at && before.jwksUri === after.jwksUri
  // Postgres sorts the members of the keys.
  if (isOlder || isDeepStrictEqual(from?.keys, to?.keys)) return {}
  const namesOf = (fetched: typeof from) => fetched?.keys.map(({ kid }) => kid)
  return { keys: { from: namesOf(from), to: namesOf(to) } }
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
