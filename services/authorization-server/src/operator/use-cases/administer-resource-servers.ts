import { randomBytes } from 'node:crypto'
import { hashToken, newClientIdentifier, newOpaqueToken } from '@valetkey/oauth-protocol'
import {
  type Api,
  type ApiDpop,
  apisOf,
  type ResourceServerRegistration,
  type ResourceServerStore,
  type TitleIn
} from '../../storage/postgres/resource-servers.js'
import type { Author } from './actor.js'
import { AdministrationError } from './administration-error.js'
import { apiDocument, titlesOf, toTitle, toTitleIn } from './api-titles.js'
import { changesBetween } from './changes-between.js'
import { requireName } from './name-of-record.js'
import { recordChange } from './record-change.js'
import { requireClientIdentifier } from './require-client-identifier.js'

export type ResourceServerAdministration = {
  resourceServers: Pick<ResourceServerStore, 'create' | 'listRegistrations' | 'remove' | 'updateApi'>
}

export type NewCredential = {
  clientId: string
  clientSecret: string
  name: string
  audience: string
  title: string | undefined
  titleIn: TitleIn
  dpop: ApiDpop | undefined
}

/** How an operator says whether the tokens of an API are bound. */
export const DPOP_OF_APIS = ['off', 'allowed', 'required'] as const

/** Undefined: as it is. */
type GivenDpop = string | undefined

type ApiChange = {
  clientId: string
  title?: string | undefined
  titleIn?: ((present: TitleIn) => TitleIn) | undefined
  dpop?: GivenDpop
}

type Credential = Pick<NewCredential, 'clientId' | 'clientSecret'>

/**
 * Creates a credential for introspection; several may share an audience.
 * @param command.title undefined: that of the API, if it has another credential; null: none
 * @param command.titleIn undefined: as for `title`
 * @param command.dpop one of `DPOP_OF_APIS`; undefined: that of the API, if it has another credential
 * @param command.given id and secret from the caller; with them the command is safe to repeat
 */
export async function createResourceServer(
  command: {
    name: string
    audience: string
    title?: string | null | undefined
    titleIn?: TitleIn | undefined
    dpop?: GivenDpop
    given?: Credential | undefined
    replaces?: string
  },
  author: Author,
  deps: ResourceServerAdministration
): Promise<{ credential: NewCredential; isNew: boolean }> {
  const name = requireName(command.name)
  const audience = requireAudience(command.audience)
  const { clientId, clientSecret } = command.given === undefined ? newCredential() : requireFit(command.given)
  const api = await findApi(audience, deps)
  const title = toTitle(command.title, api)
  const titleIn = toTitleIn(command.titleIn ?? api?.titleIn ?? {}, title, command.titleIn !== undefined)
  const dpop = toDpop(command.dpop, api)
  const details = {
    name,
    audience,
    ...titlesOf({ title, titleIn }),
    ...(dpop !== undefined && { dpop }),
    ...(command.replaces !== undefined && { replaces: command.replaces })
  }
  const event = { event: 'resource_server_created', clientId, details } as const
  let made: Awaited<ReturnType<ResourceServerStore['create']>> | undefined
  const isNew = await recordChange(event, author, async (note) => {
    const server = { clientId, name, audience, title, titleIn, dpop }
    made = await deps.resourceServers.create(server, hashToken(clientSecret), note)
    return made.outcome === 'created'
  })
  if (made?.outcome === 'conflict') {
    throw new AdministrationError(
      'conflict',
      `resource server ${clientId} exists already with another secret or audience`
    )
  }
  if (made?.outcome === 'other_spelling') {
    throw new AdministrationError(
      'conflict',
      `an API is registered with another spelling of ${audience}; use the same (see valetkey resource-servers list)`
    )
  }
  const kept = made?.outcome === 'exists' ? made.name : name
  return { credential: { clientId, clientSecret, name: kept, audience, title, titleIn, dpop }, isNew }
}

/** Creates a second credential with the same name and audience. Both are valid until the first is deleted. */
export async function rotateResourceServerSecret(
  clientId: string,
  author: Author,
  deps: ResourceServerAdministration
): Promise<NewCredential> {
  const { name, audience } = await findResourceServer(clientId, deps)
  return (await createResourceServer({ name, audience, replaces: clientId }, author, deps)).credential
}

export async function deleteResourceServer(
  clientId: string,
  author: Author,
  deps: ResourceServerAdministration
): Promise<ResourceServerRegistration> {
  const found = await findResourceServer(clientId, deps)
  const { name, audience, lastUsedAt } = found
  const event = { event: 'resource_server_deleted', clientId, details: { name, audience, lastUsedAt } } as const
  const deleted = await recordChange(event, author, (note) => deps.resourceServers.remove(clientId, note))
  if (!deleted) throw noResourceServer(clientId)
  return found
}

export async function findResourceServer(
  clientId: string,
  deps: ResourceServerAdministration
): Promise<ResourceServerRegistration> {
  const found = (await deps.resourceServers.listRegistrations()).find((each) => each.clientId === clientId)
  if (found === undefined) throw noResourceServer(clientId)
  return found
}

/**
 * Sets titles and binding of an API, on all of its credentials. Undefined: as it is.
 * @param command.title empty: the API has none, in no language
 * @param command.titleIn returns the new titles in other languages for the present ones
 * @param command.dpop one of `DPOP_OF_APIS`
 */
export async function updateApi(
  { clientId, ...given }: ApiChange,
  author: Author,
  deps: ResourceServerAdministration
): Promise<ResourceServerRegistration> {
  const found = await findResourceServer(clientId, deps)
  const { audience } = found
  const servers = (await deps.resourceServers.listRegistrations()).filter((each) => each.audience === audience)
  const api = apisOf(servers)[0]
  const title = given.title === '' ? undefined : toTitle(given.title, api)
  const present = api?.titleIn ?? {}
  const titleIn = toTitleIn(given.titleIn?.(present) ?? present, title, given.titleIn !== undefined)
  const to = { title, titleIn, dpop: toDpop(given.dpop, api) }
  // Credentials of one API can have been created with different titles.
  const changes = servers
    .map((each) => changesBetween(apiDocument(each), apiDocument(to)))
    .find((each) => Object.keys(each).length > 0)
  if (changes === undefined) return found
  const event = { event: 'resource_server_updated', clientId, details: { audience, changes } } as const
  const done = await recordChange(event, author, (note) => deps.resourceServers.updateApi(clientId, to, note))
  if (!done) throw noResourceServer(clientId)
  return { ...found, ...to }
}

/** A credential for operators, without its secret. */
export function resourceServerDocument(server: ResourceServerRegistration) {
  return {
    client_id: server.clientId,
    name: server.name,
    audience: server.audience,
    ...titlesOf(server),
    ...(server.dpop !== undefined && { dpop: server.dpop }),
    created_at: server.createdAt.toISOString(),
    ...(server.lastUsedAt && { last_used_at: server.lastUsedAt.toISOString() })
  }
}

export function newCredentialDocument({ clientId, clientSecret, name, audience, dpop, ...titles }: NewCredential) {
  const api = { ...titlesOf(titles), ...(dpop !== undefined && { dpop }) }
  return { client_id: clientId, client_secret: clientSecret, name, audience, ...api }
}

async function findApi(audience: string, deps: ResourceServerAdministration): Promise<Api | undefined> {
  return apisOf(await deps.resourceServers.listRegistrations()).find((api) => api.audience === audience)
}

function toDpop(given: GivenDpop, api: Api | undefined): ApiDpop | undefined {
  if (given === undefined) return api?.dpop
  const known = DPOP_OF_APIS.find((mode) => mode === given)
  if (known === undefined) throw invalid(`dpop must be ${DPOP_OF_APIS.join(', ')}`)
  return known === 'off' ? undefined : known
}

function newCredential(): Credential {
  return {
    clientId: newClientIdentifier(randomBytes),
    clientSecret: newOpaqueToken('clientSecret', randomBytes)
  }
}

/** @throws {AdministrationError} `invalid` */
export function requireFit({ clientId, clientSecret }: Credential): Credential {
  requireClientIdentifier(clientId)
  if (!/^[A-Za-z0-9_-]{32,128}$/.test(clientSecret))
    throw invalid('a secret must have 32 to 128 characters of A-Z a-z 0-9 _ -')
  return { clientId, clientSecret }
}

/** @throws {AdministrationError} `invalid` */
export function requireAudience(audience: string): string {
  const isIdentifier = URL.canParse(audience) && /^https?:\/\/[\x21-\x7e]+$/.test(audience) && !audience.includes('#')
  if (!isIdentifier) throw invalid('the audience must be an absolute http or https URL without a fragment')
  if (/["<>\\^`{|}]/.test(audience)) throw invalid('the audience must not have backslashes, quotes, brackets or braces')
  if (audience.length > 2000) throw invalid('the audience must not be longer than 2000 characters')
  return audience
}

function noResourceServer(clientId: string): AdministrationError {
  return new AdministrationError('not_found', `there is no resource server ${clientId}`)
}

function invalid(message: string): AdministrationError {
  return new AdministrationError('invalid', message)
}
