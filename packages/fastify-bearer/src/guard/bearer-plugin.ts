import {
  protectedResourceMetadata,
  protectedResourceMetadataPath,
  protectedResourceMetadataUrl
} from '@valetkey/oauth-protocol'
import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { buildIntrospector, type IntrospectionOptions, type Introspector } from '../introspection/introspector.js'
import { GUARD_CHALLENGE, tokenGuard } from './token-guard.js'
import { refuseTokenInForm } from './token-in-form.js'
import type { AccessToken, AnyOfScopes } from './validate-token-and-scope.js'

export type BearerOptions = {
  /** The authorization server whose tokens are accepted. Compared with `iss` of a result, where present. */
  issuer: string
  /** This API's resource identifier: the audience that tokens must have, and the base of the metadata URL. */
  resource: string
  /** For challenges. Default: the host of `resource`. */
  realm?: string
  /** For the metadata. Leave out scopes that clients should not request by default. */
  scopesSupported: readonly string[]
  /** Options of the introspection call, or an introspector that the caller built and closes. */
  introspection: IntrospectionOptions | Introspector
  /** `any` for an authorization server other than Valetkey. Default `valetkey`. */
  tokenFormat?: 'valetkey' | 'any'
  /**
   * Whether a result must have `aud`. `required` is the default. `if-present` accepts a result without it, for servers
   * that never send one; then this API accepts tokens that were issued for any other API of that server (RFC 9700 §2.3).
   */
  audience?: 'required' | 'if-present'
  /** This API's clock. A token is expired if both this clock and the authorization server's `Date` say so. */
  now?: () => Date
  /** Called with the reason of each refusal, one of a few words that suit a counter. It must not throw. */
  onRefusal?: (reason: string) => void
}

/**
 * Makes the onRequest hook of a route. `requireAccessToken('files.read', 'files.share')` requires both scopes,
 * `requireAccessToken({ anyOf: ['files.read', 'files.read:images'] })` one of them, and `requireAccessToken()` a valid
 * token of any scope.
 */
export type RequireAccessToken = (...scopes: string[] | [AnyOfScopes]) => onRequestHookHandler

declare module 'fastify' {
  interface FastifyInstance {
    requireAccessToken: RequireAccessToken
  }
  interface FastifyRequest {
    /** The token of an accepted request; null before the guard, and on routes without a guard. */
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
  const expected = { issuer, resource, isAudienceRequired, tokenFormat, now }
  const deps = { introspector, realm, resourceMetadata, onRefusal, ...expected }
  server.decorateRequest('accessToken', null)
  server.decorateRequest(GUARD_CHALLENGE, null)
  server.decorate('requireAccessToken', (...scopes: string[] | [AnyOfScopes]) => {
    const [first] = scopes
    return tokenGuard(deps, typeof first === 'object' ? first : (scopes as string[]))
  })
  // A second token in the body makes the request ambiguous (RFC 6750 §2). The body is read only after the guard.
  server.addHook('preHandler', refuseTokenInForm(onRefusal))

  // How a client that was refused finds the authorization server (RFC 9728). Public, and readable from any origin.
  const metadata = protectedResourceMetadata({ resource, authorizationServers: [issuer], scopesSupported })
  server.get(protectedResourceMetadataPath(resource), async (_request, reply) => {
    reply.header('access-control-allow-origin', '*').header('cache-control', 'public, max-age=300')
    return metadata
  })
}

/** Guards the routes of a Fastify server with OAuth 2.0 bearer tokens. */
export const bearerPlugin = fastifyPlugin(bearer, { name: '@valetkey/fastify-bearer', fastify: '5.x' })
