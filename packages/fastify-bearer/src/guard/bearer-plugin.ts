import { protectedResourceMetadataUrl } from '@valetkey/oauth-protocol'
import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { buildIntrospector, type IntrospectionOptions, type Introspector } from '../introspection/introspector.js'
import { metadataRoute } from './metadata-route.js'
import type { AnyOfScopes } from './require-scope.js'
import { ADMITTED_BY, tokenGuard } from './token-guard.js'
import { refuseTokenInForm } from './token-in-form.js'
import type { AccessToken } from './validate-token.js'

export type BearerOptions = {
  /** The authorization server whose tokens are accepted; `iss` of an answer, where it is given, must equal it. */
  issuer: string
  /** This API's own identifier: the audience that tokens must name, and the base of its metadata's URL. */
  resource: string
  /** Shown in challenges. Default: the resource's host. */
  realm?: string
  /** Listed in the metadata. Leave out what clients should not ask for on their own. */
  scopesSupported: readonly string[]
  /** How to ask the authorization server, or a client that was built before (and is closed by its owner). */
  introspection: IntrospectionOptions | Introspector
  /** `any` for an authorization server other than Valetkey. Default `valetkey`. */
  tokenFormat?: 'valetkey' | 'any'
  /**
   * What an answer without `aud` means. `required` (the default) refuses it. `if-present` accepts it, for servers that
   * never send one: then a token that was issued for any other API of that server opens this one (RFC 9700 §2.3).
   */
  audience?: 'required' | 'if-present'
  /** This API's clock. A token is refused as expired where this clock and that of the authorization server both say so. */
  now?: () => Date
  /** Hears why a token was refused, as the log does: one of a few words, good for a counter. It must not throw. */
  onRefusal?: (reason: string) => void
}

/**
 * Makes the onRequest hook of a route: `requireAccessToken('files.read', 'files.share')` asks for every scope named,
 * `requireAccessToken({ anyOf: ['files.read', 'files.read:images'] })` for one of them, and no argument for a good token
 * of any scope.
 */
export type RequireAccessToken = (...scopes: string[] | [AnyOfScopes]) => onRequestHookHandler

declare module 'fastify' {
  interface FastifyInstance {
    requireAccessToken: RequireAccessToken
  }
  interface FastifyRequest {
    /** The token this request came with; null until its guard has let it pass. */
    accessToken: AccessToken | null
  }
}

async function bearer(server: FastifyInstance, options: BearerOptions): Promise<void> {
  const { issuer, resource, scopesSupported, introspection, tokenFormat = 'valetkey', now = () => new Date() } = options
  const isAudienceRequired = options.audience !== 'if-present'
  if (!isAudienceRequired) {
    server.log.warn({ event: 'audience_not_required' }, 'tokens without an audience are accepted')
  }
  const realm = options.realm ?? new URL(resource).host
  const resourceMetadata = protectedResourceMetadataUrl(resource)
  const introspector = 'introspect' in introspection ? introspection : buildIntrospector(introspection, server.log)
  if (introspector !== introspection) server.addHook('onClose', () => introspector.close())

  const { onRefusal } = options
  const judging = { issuer, resource, isAudienceRequired, tokenFormat, now }
  const needs = { introspector, realm, resourceMetadata, onRefusal, ...judging }
  server.decorateRequest('accessToken', null)
  server.decorateRequest(ADMITTED_BY, null)
  server.decorate('requireAccessToken', (...scopes: string[] | [AnyOfScopes]) => {
    const [first] = scopes
    return tokenGuard(needs, typeof first === 'object' ? first : (scopes as string[]))
  })
  // A body is read only after the guard; a second token in it makes the request ambiguous all the same.
  server.addHook('preHandler', refuseTokenInForm(onRefusal))
  await server.register(metadataRoute, { resource, issuer, scopesSupported })
}

/** Guards the routes of a Fastify server with OAuth 2.0 bearer tokens. */
export const bearerPlugin = fastifyPlugin(bearer, { name: '@valetkey/fastify-bearer', fastify: '5.x' })
