import { type Client, scopesOf } from './client.js'
import { isSameResource } from './resource.js'
import { parseScope } from './scope.js'

/** A scope of the catalogue. */
type CatalogueScope = {
  name: string
  /** Resource identifier of the API that the scope belongs to; undefined for the default API. */
  audience: string | undefined
  /** Requested by a request without `scope`. */
  isDefault: boolean
}

/** The APIs that tokens can be issued for, and their scopes. */
export type AccessCatalogue = {
  /** The resource identifier of the default API. */
  defaultAudience: string
  /** The resource identifiers of the registered APIs, as registered. */
  audiences: readonly string[]
  scopes: readonly CatalogueScope[]
}

/** What a request asks for: scopes of one API. */
export type RequestedAccess = {
  kind: 'requested'
  scope: readonly string[]
  /** The resource identifier of that API, as registered. */
  audience: string
}

export type AccessRefusal = { kind: 'refused'; error: 'invalid_scope' | 'invalid_target'; description: string }

/**
 * Evaluates `scope` and `resource` of a request (RFC 6749 §3.3, RFC 8707 §2). One request is for one API: that of `resource`,
 * else the one that all requested scopes belong to, else the default API.
 */
export function evaluateRequestedAccess(
  { scope: text, resource }: { scope: string | undefined; resource: string | undefined },
  client: Client,
  catalogue: AccessCatalogue
): RequestedAccess | AccessRefusal {
  const registeredScopes = scopesOf(client)
  const known = catalogue.scopes.filter(({ name }) => registeredScopes.includes(name))
  const sent = text === undefined ? [] : parseScope(text)
  const requested = sent && withoutIgnored(sent, client, registeredScopes)
  if (requested === undefined) return refuse({ error: 'invalid_scope', description: 'The scope is malformed.' })
  const unknown = requested.find((name) => !known.some((scope) => scope.name === name))
  if (unknown !== undefined) {
    const named = unknown.length > MAX_NAMED_LENGTH ? 'A scope' : `The scope ${unknown}`
    return refuse({ error: 'invalid_scope', description: `${named} is unknown or not allowed for this client.` })
  }
  const audienceOf = (scope: CatalogueScope) => registered(scope.audience ?? catalogue.defaultAudience, catalogue)
  const named = resource === undefined ? undefined : findAudience(resource, catalogue)
  if (resource !== undefined && named === undefined)
    return refuse({ error: 'invalid_target', description: 'The resource is not known here.' })
  const ofRequest = known.filter(({ name }) => requested.includes(name))
  const audience = named ?? audienceOf(ofRequest[0] ?? DEFAULT_SCOPE)
  const isOfAudience = (scope: CatalogueScope) => isSameResource(audienceOf(scope), audience)
  const isAllowed = client.audiences?.some((allowed) => isSameResource(allowed, audience)) ?? known.some(isOfAudience)
  if (!isAllowed) {
    const description = `The client is not registered for the API ${audience}.`
    return refuse(
      named === undefined ? { error: 'invalid_scope', description } : { error: 'invalid_target', description }
    )
  }
  const foreign = ofRequest.find((scope) => !isOfAudience(scope))
  if (foreign !== undefined) {
    const wanted = `The scope ${foreign.name} belongs to the API ${audienceOf(foreign)}`
    return refuse({
      error: 'invalid_scope',
      description: `${wanted}, and the request is for the API ${audience}. Send one request for each API.`
    })
  }
  if (requested.length > 0) return { kind: 'requested', scope: requested, audience }
  const scope = known.filter((each) => each.isDefault && isOfAudience(each))
  if (scope.length > 0) return { kind: 'requested', scope: scope.map(({ name }) => name), audience }
  return refuse({
    error: 'invalid_scope',
    description: `The parameter scope is missing, and the API ${audience} has no default scope.`
  })
}

/**
 * Clients without a registration add `offline_access` by themselves (OpenID Connect Core §11). Their refresh tokens do not depend on
 * it, and without the request they could not know that it is not supported.
 * @param allowed a scope of this name that is allowed here is kept
 */
export function withoutIgnored(
  sent: readonly string[],
  { isDiscovered }: Pick<Client, 'isDiscovered'>,
  allowed: readonly string[]
): readonly string[] {
  if (isDiscovered !== true || allowed.includes('offline_access')) return sent
  return sent.filter((name) => name !== 'offline_access')
}

/** Longer names of scopes are not repeated in descriptions. */
const MAX_NAMED_LENGTH = 100

/** A scope of the default API: the API of a request with neither `scope` nor `resource`. */
const DEFAULT_SCOPE: CatalogueScope = { name: '', audience: undefined, isDefault: false }

/** The registered API with this identifier, or the default API. */
function findAudience(resource: string, { audiences, defaultAudience }: AccessCatalogue): string | undefined {
  const registeredAudience = audiences.find((audience) => isSameResource(audience, resource))
  return registeredAudience ?? (isSameResource(defaultAudience, resource) ? defaultAudience : undefined)
}

/** The same identifier as registered. An API that is not registered keeps it as given. */
function registered(audience: string, catalogue: AccessCatalogue): string {
  return findAudience(audience, catalogue) ?? audience
}

function refuse(refusal: Omit<AccessRefusal, 'kind'>): AccessRefusal {
  return { kind: 'refused', ...refusal }
}
