import type { Author } from '../../operator/use-cases/actor.js'
import {
  ATTEMPTS,
  type ClientAdministration,
  changedMeanwhile,
  findClient,
  findVersioned
} from '../../operator/use-cases/administer-client.js'
import { AdministrationError } from '../../operator/use-cases/administration-error.js'
import { readKeys } from '../../operator/use-cases/client-keys.js'
import { requireProfile } from '../../operator/use-cases/client-profile.js'
import { recordChange } from '../../operator/use-cases/record-change.js'
import { MOST_REGISTERED_KEYS } from '../../platform/clients/client-keys.js'
import type { StoredJwk } from '../../storage/postgres/client-keys.js'
import type { ClientRegistration } from '../../storage/postgres/clients.js'
import type { ClientKey, ClientKeyStore } from './client-key-store.js'
import { mergeKeys } from './merge-keys.js'

export type ClientKeyAdministration = Pick<ClientAdministration, 'clients' | 'changes'> & {
  keys: Pick<ClientKeyStore, 'list'>
}

/** Lists the registered keys of a client, oldest first; of a client without keys none. */
export async function listClientKeys(clientId: string, deps: ClientKeyAdministration): Promise<readonly ClientKey[]> {
  await findClient(clientId, deps)
  return deps.keys.list(clientId)
}

/**
 * Registers further keys of a client, so that it can change to them without a gap. Keys that it has already are no mistake: a
 * repeated request changes nothing.
 * @param command.jwks a JWK Set (RFC 7517 §5)
 * @returns the keys that it has afterwards
 */
export async function addClientKeys(
  { clientId, jwks }: { clientId: string; jwks: unknown },
  author: Author,
  deps: ClientKeyAdministration
): Promise<readonly ClientKey[]> {
  const given = await readKeys(jwks)
  await changeKeys(clientId, deps, async (registered, save) => {
    const merged = mergeKeys(registered, given)
    switch (merged.kind) {
      case 'kid_taken':
        throw new AdministrationError(
          'conflict',
          `the client has another key with the kid ${merged.kid}; remove it first`
        )
      case 'too_many':
        throw new AdministrationError('conflict', `a client has at most ${MOST_REGISTERED_KEYS} keys; remove one first`)
      case 'merged': {
        if (merged.added.length === 0) return true
        const event = { event: 'client_key_added', clientId, details: { keys: merged.added } } as const
        return recordChange(event, author, (note) => save(merged.keys, note))
      }
    }
  })
  return deps.keys.list(clientId)
}

/** Removes a key at once, except the last one: without it, the client could not authenticate. */
export async function removeClientKey(
  { clientId, kid }: { clientId: string; kid: string },
  author: Author,
  deps: ClientKeyAdministration
): Promise<readonly ClientKey[]> {
  await changeKeys(clientId, deps, async (registered, save) => {
    const removed = registered.find((key) => key.kid === kid)
    if (removed === undefined) throw new AdministrationError('not_found', `the client ${clientId} has no key ${kid}`)
    if (registered.length === 1) {
      const advice = 'add another one first, or disable the client'
      throw new AdministrationError('conflict', `${kid} is the only key of the client: ${advice}`)
    }
    const event = { event: 'client_key_removed', clientId, details: { key: removed } } as const
    return recordChange(event, author, (note) =>
      save(
        registered.filter((key) => key !== removed),
        note
      )
    )
  })
  return deps.keys.list(clientId)
}

/** What operators and developers see of a key. */
export function clientKeyDocument({ kid, jwk, createdAt, lastUsedAt }: ClientKey) {
  return {
    kid,
    jwk,
    created_at: createdAt.toISOString(),
    ...(lastUsedAt && { last_used_at: lastUsedAt.toISOString() })
  }
}

type Save = (
  registered: readonly StoredJwk[],
  note: Parameters<ClientAdministration['changes']['update']>[2]
) => Promise<boolean>

/** Retries while other requests change the same client. @param change false when another request was first */
async function changeKeys(
  clientId: string,
  deps: ClientKeyAdministration,
  change: (registered: readonly StoredJwk[], save: Save) => Promise<boolean>
): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const { client, version } = await findVersioned(clientId, deps)
    requireRegisteredKeys(client)
    const save: Save = async (registered, note) => {
      const changed = { ...client, keys: { registered, fetched: undefined } }
      requireProfile(changed)
      return deps.changes.update({ client: changed, added: [] }, version, note)
    }
    if (await change(client.keys?.registered ?? [], save)) return
  }
  throw changedMeanwhile(clientId)
}

function requireRegisteredKeys({ clientId, isDiscovered, privateKeyJwt, jwksUri }: ClientRegistration): void {
  if (isDiscovered === true) throw new AdministrationError('conflict', 'the document of the client has its keys')
  if (privateKeyJwt === undefined) {
    const advice = `valetkey clients update ${clientId} --auth-method private_key_jwt --jwks FILE`
    throw new AdministrationError('conflict', `the client does not authenticate with keys; to change that: ${advice}`)
  }
  if (jwksUri !== undefined) throw new AdministrationError('conflict', `the keys of the client are at ${jwksUri}`)
}
