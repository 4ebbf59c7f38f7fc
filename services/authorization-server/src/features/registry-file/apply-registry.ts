import { isClientIdentifier } from '@valetkey/oauth-protocol'
import type { Author } from '../../operator/use-cases/actor.js'
import { deleteClient, disableClient, enableClient, updateClient } from '../../operator/use-cases/administer-client.js'
import {
  createResourceServer,
  deleteResourceServer,
  requireFit,
  updateApi
} from '../../operator/use-cases/administer-resource-servers.js'
import { createScope, deleteScope, updateScope } from '../../operator/use-cases/administer-scopes.js'
import { AdministrationError } from '../../operator/use-cases/administration-error.js'
import { hasOwnSecret, registerClient, requireUsable } from '../../operator/use-cases/register-client.js'
import type { Mistakes } from './mistakes.js'
import type { RegistryAdministration, RegistryChange } from './registry-change.js'
import { type ClientEntry, type ResourceServerEntry, settingsOf } from './registry-document.js'

/** The secret of a new client or resource server; undefined if there is none. */
export type ReadSecretOf = (clientId: string) => Promise<string | undefined>

/** Requires secrets that the new records can have, before the first change. */
export async function readNewSecrets(
  changes: readonly RegistryChange[],
  readSecretOf: ReadSecretOf,
  mistakes: Mistakes
): Promise<ReadonlyMap<string, string>> {
  const secrets = new Map<string, string>()
  for (const change of changes) {
    if (change.action !== 'create' || change.kind === 'scope') continue
    const { id, kind, place } = change
    // The id becomes the name of a file. The plan has the mistake of an invalid id.
    if (!isClientIdentifier(id) || (kind === 'client' && !needsSecret(change.entry))) continue
    await mistakes.check(place, async () => {
      const clientSecret = await readSecretOf(id)
      if (clientSecret === undefined) throw noSecret(kind, id)
      if (kind === 'client') requireUsable({ clientId: id, clientSecret }, true)
      else requireFit({ clientId: id, clientSecret })
      secrets.set(id, clientSecret)
    })
  }
  return secrets
}

function needsSecret(entry: ClientEntry): boolean {
  return hasOwnSecret(entry.type ?? 'confidential', settingsOf(entry))
}

function noSecret(kind: string, id: string): AdministrationError {
  return new AdministrationError('invalid', `${kind} ${id} is new: pass --secrets-dir with its secret in a file ${id}`)
}

/** Makes one change. Each is complete and audited by itself, so that a failed `apply` can be repeated. */
export async function makeChange(
  change: RegistryChange,
  secrets: ReadonlyMap<string, string>,
  author: Author,
  deps: RegistryAdministration
): Promise<void> {
  if (change.action === 'delete') return remove(change, author, deps)
  const isNew = change.action === 'create'
  switch (change.kind) {
    case 'resource server':
      return saveResourceServer(change.entry, isNew ? secrets.get(change.id) : undefined, author, deps)
    case 'scope':
      return saveScope(change, author, deps)
    case 'client':
      return saveClient(change, secrets.get(change.id), author, deps)
  }
}

type Saved<Kind> = Extract<RegistryChange, { kind: Kind; changes: object }>

async function remove(
  { kind, id }: Pick<RegistryChange, 'kind' | 'id'>,
  author: Author,
  deps: RegistryAdministration
): Promise<void> {
  if (kind === 'client') await deleteClient(id, author, deps)
  else if (kind === 'scope') await deleteScope({ name: id, fromClients: false }, author, deps)
  else await deleteResourceServer(id, author, deps)
}

async function saveResourceServer(
  { client_id: clientId, name, audience, title, title_in: titleIn = {}, dpop = 'off' }: ResourceServerEntry,
  clientSecret: string | undefined,
  author: Author,
  deps: RegistryAdministration
): Promise<void> {
  if (clientSecret === undefined) {
    await updateApi({ clientId, title: title ?? '', titleIn: () => titleIn, dpop }, author, deps)
    return
  }
  const given = { clientId, clientSecret }
  await createResourceServer({ name, audience, title: title ?? null, titleIn, dpop, given }, author, deps)
}

async function saveScope(
  { entry, action, changes }: Saved<'scope'>,
  author: Author,
  deps: RegistryAdministration
): Promise<void> {
  const { name, title, description = '', translations = {} } = entry
  const texts = { title, description, translations }
  const isNew = action === 'create'
  const settings = {
    // A scope stays with its API also if that has no credential, and cannot be named.
    resource: isNew || 'resource' in changes ? (entry.resource ?? null) : undefined,
    isDefault: entry.default ?? false,
    isDiscoverable: entry.discoverable ?? false,
    isSelfService: entry.self_service ?? false,
    selects: entry.selects ?? false
  }
  if (isNew) await createScope({ name, ...texts, ...settings }, author, deps)
  else await updateScope({ name, texts: () => texts, settings }, author, deps)
}

async function saveClient(
  { entry, action, changes }: Saved<'client'>,
  clientSecret: string | undefined,
  author: Author,
  deps: RegistryAdministration
): Promise<void> {
  const { client_id: clientId, name, redirect_uris: redirectUris, type = 'confidential', disabled } = entry
  const settings = settingsOf(entry)
  if (action === 'create') {
    await registerClient({ ...settings, name, redirectUris, type, given: { clientId, clientSecret } }, author, deps)
  } else {
    const resources = 'resources' in changes ? settings.resources : undefined
    await updateClient({ clientId, settings: { ...settings, resources } }, author, deps)
  }
  if (disabled === true) await disableClient(clientId, author, deps)
  else if (disabled === false) await enableClient(clientId, author, deps)
}
