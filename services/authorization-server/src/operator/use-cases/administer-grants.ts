import { isClientId } from '@valetkey/oauth-protocol'
import type { ClientStore } from '../../storage/postgres/clients.js'
import type {
  GrantedAccess,
  GrantedAccessStore,
  GrantPlace,
  WhoseGrants
} from '../../storage/postgres/granted-access.js'
import type { Page } from '../../storage/postgres/page.js'
import type { UserStore } from '../../storage/postgres/users.js'
import type { Author } from './actor.js'
import { AdministrationError } from './administration-error.js'
import { findAudience, type RegisteredApis } from './find-audience.js'
import { isRecordId } from './name-of-record.js'
import { type PageOf, readPage } from './pages.js'
import { recordChange } from './record-change.js'

export type GrantAdministration = {
  grantedAccess: GrantedAccessStore
  users: Pick<UserStore, 'findById'>
  clients: Pick<ClientStore, 'find'>
}

/** What a list needs besides: the APIs by name. */
export type GrantListing = GrantAdministration & RegisteredApis

/** @property resource name or identifier of a resource server */
export type GrantQuestion = WhoseGrants & { resource?: string | undefined }

/** Lists active grants. */
export async function listGrants(
  { resource, ...whose }: GrantQuestion,
  { after, limit }: Page,
  deps: GrantListing
): Promise<PageOf<GrantedAccess>> {
  await requireBoth(whose, deps)
  const filter = { ...whose, audience: resource === undefined ? undefined : await findAudience(resource, deps) }
  const place = after === undefined ? undefined : readPlace(after)
  const list = (page: Page) => deps.grantedAccess.list(filter, { after: place, limit: page.limit })
  return readPage({ limit }, list, ({ userId, clientId, grantId }) => `${userId}.${clientId}.${grantId}`)
}

/** Ends a grant with its tokens. Idempotent. */
export async function revokeGrant(grantId: string, author: Author, deps: GrantAdministration): Promise<void> {
  const found = isRecordId(grantId) ? await deps.grantedAccess.find(grantId) : undefined
  if (found === undefined) throw new AdministrationError('not_found', `there is no grant ${grantId}`)
  const event = { event: 'grant_revoked', ...found, details: { grantId } } as const
  await recordChange(event, author, (note) => deps.grantedAccess.end(grantId, note))
}

/**
 * Ends the grants of a user, to a client, or both, and deletes the remembered consents, so that users must consent again.
 * @returns the number of ended grants, if it was counted
 */
export async function revokeGrants(
  filter: WhoseGrants,
  author: Author,
  deps: GrantAdministration
): Promise<number | undefined> {
  const { userId, clientId } = filter
  await requireBoth(filter, deps)
  const event = { event: 'grants_revoked', userId, clientId } as const
  if (userId !== undefined) {
    return (await recordChange(event, author, (note) => deps.grantedAccess.endOfUser({ userId, clientId }, note))) ?? 0
  }
  if (clientId === undefined) throw new AdministrationError('invalid', 'name a user, a client, or both')
  await recordChange(event, author, (note) => deps.grantedAccess.endToClient(clientId, note))
  return undefined
}

/** Refuses an unknown user or client, because the id was probably mistyped. */
async function requireBoth({ userId, clientId }: WhoseGrants, { users, clients }: GrantAdministration): Promise<void> {
  if (userId !== undefined && !(isRecordId(userId) && (await users.findById(userId)))) {
    throw new AdministrationError('not_found', `there is no user ${userId}`)
  }
  if (clientId !== undefined && !(isClientId(clientId) && (await clients.find(clientId)))) {
    throw new AdministrationError('not_found', `there is no client ${clientId}`)
  }
}

function readPlace(after: string): GrantPlace {
  // A client id can contain dots.
  const [, userId = '', clientId = '', grantId = ''] = /^([^.]*)\.(.*)\.([^.]*)$/.exec(after) ?? []
  if (!isRecordId(userId) || !isClientId(clientId) || !isRecordId(grantId)) {
    throw new AdministrationError('invalid', 'after must be the value of next on the previous page')
  }
  return { userId, clientId, grantId }
}

export function grantDocument(grant: GrantedAccess) {
  return {
    grant_id: grant.grantId,
    user_id: grant.userId,
    username: grant.username,
    client_id: grant.clientId,
    client_name: grant.clientName,
    scope: grant.scope.join(' '),
    audience: grant.audience,
    created_at: grant.createdAt.toISOString(),
    ...(grant.lastUsedAt && { last_used_at: grant.lastUsedAt.toISOString() }),
    ...(grant.refreshableUntil && { refreshable_until: grant.refreshableUntil.toISOString() }),
    expires_at: grant.expiresAt.toISOString()
  }
}
