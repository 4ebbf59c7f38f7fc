import {
  digestToken,
  type IntrospectionResponse,
  introspectionResponse,
  isWellFormed,
  OAuthError,
  readClientCredentials
} from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync } from 'fastify'
import { authorizationHeaders, formOf } from '../http/form.js'
import { authenticateResourceServer } from '../resource-servers/authenticate-resource-server.js'
import type { AccessTokenStore } from '../storage/access-tokens.js'
import type { ResourceServerStore } from '../storage/resource-servers.js'
import type { GrantUsage } from '../usage/grant-usage.js'

export type IntrospectionRouteOptions = {
  issuer: string
  resourceServers: Pick<ResourceServerStore, 'findWithSecret'>
  accessTokens: Pick<AccessTokenStore, 'findActive'>
  usage: GrantUsage
  now: () => Date
}

const INTROSPECTION_RESPONSE = {
  type: 'object',
  required: ['active'],
  properties: {
    active: { type: 'boolean' },
    scope: { type: 'string' },
    client_id: { type: 'string' },
    sub: { type: 'string' },
    iss: { type: 'string' },
    aud: { type: 'string' },
    iat: { type: 'integer' },
    exp: { type: 'integer' },
    jti: { type: 'string' },
    token_type: { type: 'string' },
    grant_id: { type: 'string' }
  }
}

/** `POST /introspect` (RFC 7662), on the internal listener only. `token_type_hint` is not needed: the prefix tells. */
export const introspectionRoutes: FastifyPluginAsync<IntrospectionRouteOptions> = async (oauth, options) => {
  const { issuer, resourceServers, accessTokens, usage, now } = options
  const schema = { response: { 200: INTROSPECTION_RESPONSE } }
  oauth.post('/introspect', { schema }, async (request, reply): Promise<IntrospectionResponse> => {
    const form = formOf(request)
    const credentials = readClientCredentials(authorizationHeaders(request), form)
    const caller = await authenticateResourceServer(credentials, resourceServers)
    if (form.isRepeated('token')) throw new OAuthError('invalid_request', 'The parameter token must be sent once.')
    const token = form.get('token')
    if (token === undefined && !form.isMalformed('token')) {
      throw new OAuthError('invalid_request', 'The parameter token is missing.')
    }
    const active =
      token !== undefined && isWellFormed('accessToken', token)
        ? await accessTokens.findActive(digestToken(token), now())
        : undefined
    reply.header('cache-control', 'no-store').header('pragma', 'no-cache')
    const answer = introspectionResponse(active, { audience: caller.audience, issuer })
    if (answer.active) usage.note(answer.grant_id)
    return answer
  })
}
