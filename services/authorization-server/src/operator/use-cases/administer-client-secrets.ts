import { randomBytes } from 'node:crypto'
import {
  createClientSecret,
  findDeletableSecret,
  liveSecrets,
  mayAddSecret
} from '../../platform/clients/client-secret-rules.js'
import { type ClientSecret, clientSecretKey, type SecretOfClient } from '../../storage/postgres/client-secrets.js'
import type { Page } from '../../storage/postgres/page.js'
import type { Author } from './actor.js'
import {
  ATTEMPTS,
  type ClientAdministration,
  changedMeanwhile,
  findClient,
  findVersioned
} from './administer-client.js'
import { AdministrationError } from './administration-error.js'
import { type PageOf, readPage } from './pages.js'
import { recordChange } from './record-change.js'
import type { NewSecret } from './register-client.js'

const DAY = 86_400
/** Seconds; long enough for the next release of the app. */
export const KEEP_OLD_FOR = { default: 7 * DAY, longest: 90 * DAY }

/** Lists the secrets of a client. Ended secrets remain until the next rotation. */
export async function listClientSecrets(
  clientId: string,
  deps: ClientAdministration
): Promise<readonly ClientSecret[]> {
  await findClient(clientId, deps)
  return deps.secrets.list(clientId)
}

/** Lists the valid secrets of all clients, in pages. */
export function listLiveSecrets({ after, limit }: Page, deps: ClientAdministration): Promise<PageOf<SecretOfClient>> {
  if (after !== undefined && !/^[\x21-\x7e]{1,2048} [0-9a-f]{12}$/.test(after)) {
    throw new AdministrationError('invalid', 'after must be the value of next on the previous page')
  }
  const placeOf = ({ clientId, secretId }: SecretOfClient) => clientSecretKey(clientId, secretId)
  return readPage({ after, limit }, (page) => deps.secrets.listLive(page), placeOf)
}

/**
 * Creates a second secret. The old one stays valid for a while, so that the app can switch without a gap.
 * @param command.keepOldFor seconds; 0 ends every other secret at once
 */
export async function rotateClientSecret(
  { clientId, keepOldFor = KEEP_OLD_FOR.default }: { clientId: string; keepOldFor?: number | undefined },
  author: Author,
  deps: ClientAdministration
): Promise<NewSecret & { old: readonly ClientSecret[] }> {
  if (!Number.isInteger(keepOldFor) || keepOldFor < 0 || keepOldFor > KEEP_OLD_FOR.longest) {
    throw new AdministrationError('invalid', `the old secret can stay valid for 0 to ${KEEP_OLD_FOR.longest} seconds`)
  }
  const { clientSecret, hash, secretId } = createClientSecret(randomBytes)
  const old = await changeSecrets(clientId, deps, async (secrets, version, readAt) => {
    const live = liveSecrets(secrets)
    if (keepOldFor > 0 && !mayAddSecret(secrets)) throw twoAreLive(live)
    const othersUntil = new Date(readAt.getTime() + keepOldFor * 1000)
    const ending = live.map((secret) => ({
      ...secret,
      expiresAt: earlier(secret.expiresAt, othersUntil),
      live: keepOldFor > 0
    }))
    const details = { secretId, old: ending.map(describe) }
    const event = { event: 'client_secret_rotated', clientId, details } as const
    const rotated = await recordChange(event, author, (note) =>
      deps.changes.addSecret({ clientId, version }, { hash, othersUntil }, note)
    )
    return rotated ? ending : undefined
  })
  return { clientSecret, secretId, old }
}

/** Ends a secret immediately, except the last live one: without it, the client could not authenticate. */
export async function deleteClientSecret(
  { clientId, secretId }: { clientId: string; secretId: string },
  author: Author,
  deps: ClientAdministration
): Promise<ClientSecret> {
  return changeSecrets(clientId, deps, async (secrets, version) => {
    const found = findDeletableSecret(secrets, secretId)
    if (found.kind === 'unknown') {
      throw new AdministrationError('not_found', `the client ${clientId} has no secret ${secretId}`)
    }
    if (found.kind === 'only_live_secret') {
      const advice = 'create a new one first, which can end this one immediately, or disable the client'
      throw new AdministrationError('conflict', `${secretId} is the only live secret of the client: ${advice}`)
    }
    const { secret } = found
    const event = { event: 'client_secret_deleted', clientId, details: describe(secret) } as const
    const deleted = await recordChange(event, author, (note) =>
      deps.changes.removeSecret({ clientId, version }, secretId, note)
    )
    return deleted ? secret : undefined
  })
}

/** What operators see of a secret. */
export function clientSecretDocument(secret: ClientSecret) {
  return {
    secret_id: secret.secretId,
    live: secret.live,
    created_at: secret.createdAt.toISOString(),
    ...(secret.expiresAt && { expires_at: secret.expiresAt.toISOString() }),
    ...(secret.lastUsedAt && { last_used_at: secret.lastUsedAt.toISOString() })
  }
}

/** A secret among those of all clients. */
export function secretOfClientDocument({ clientId, clientName, ...secret }: SecretOfClient) {
  return { client_id: clientId, client_name: clientName, ...clientSecretDocument(secret) }
}

/** Retries while other requests change the same client. @param change undefined when another request was first */
async function changeSecrets<Outcome>(
  clientId: string,
  deps: ClientAdministration,
  change: (secrets: readonly ClientSecret[], version: string, readAt: Date) => Promise<Outcome | undefined>
): Promise<Outcome> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const { client, version, readAt } = await findVersioned(clientId, deps)
    if (client.type === 'public') throw new AdministrationError('conflict', 'a public client has no secret')
    if (client.privateKeyJwt !== undefined) {
      throw new AdministrationError('conflict', 'the client authenticates with its keys and has no secret')
    }
    const outcome = await change(await deps.secrets.list(clientId), version, readAt)
    if (outcome !== undefined) return outcome
  }
  throw changedMeanwhile(clientId)
}

function twoAreLive(live: readonly ClientSecret[]): AdministrationError {
  const each = live.map(({ secretId, expiresAt }) =>
    expiresAt ? `${secretId} (until ${expiresAt.toISOString()})` : secretId
  )
  const advice = 'delete the old one, or let the new one end both immediately'
  return new AdministrationError('conflict', `the client has two live secrets: ${each.join(' and ')}; ${advice}`)
}

function describe({ secretId, createdAt, expiresAt, lastUsedAt }: ClientSecret) {
  return { secretId, createdAt, expiresAt, lastUsedAt }
}

const earlier = (one: Date | undefined, other: Date) => (one !== undefined && one < other ? one : other)
