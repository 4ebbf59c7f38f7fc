import {
  type ActiveAccessToken,
  bucketOfAccessToken,
  digestToken,
  type IntrospectionResponse,
  introspectionResponse,
  OAuthError,
  readClientCredentials
} from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync } from 'fastify'
import { authorizationHeaders, formOf } from '../http/form.js'
import { authenticateResourceServer } from '../resource-servers/authenticate-resource-server.js'
import type { IntrospectionStore } from '../storage/introspections.js'
import type { ResourceServerStore } from '../storage/resource-servers.js'
import type { GrantUsage } from '../usage/grant-usage.js'

export type IntrospectionRouteOptions = {
  issuer: string
  resourceServers: Pick<ResourceServerStore, 'findWithSecret'>
  introspections: IntrospectionStore
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
  const { issuer, resourceServers, introspections, usage, now } = options
  const schema = { response: { 200: INTROSPECTION_RESPONSE } }
  oauth.post('/introspect', { schema }, async (request, reply): Promise<IntrospectionResponse> => {
    const form = formOf(request)
    const credentials = readClientCredentials(authorizationHeaders(request), form)
    // Before anything else is judged or looked up: strangers learn nothing but that they are.
    const { audience } = await authenticateResourceServer(credentials, resourceServers)
    const token = form.get('token')
    if (form.isRepeated('token')) throw new OAuthError('invalid_request', 'The parameter token must be sent once.')
    if (token === undefined && !form.isMalformed('token')) {
      throw new OAuthError('invalid_request', 'The parameter token is missing.')
    }
    const accessToken = await findAccessToken(token)
    reply.header('cache-control', 'no-store').header('pragma', 'no-cache')
    const answer = introspectionResponse(accessToken, { audience, issuer })
    if (answer.active) usage.note(answer.grant_id)
    return answer
  })

  async function findAccessToken(token: string | undefined): Promise<ActiveAccessToken | undefined> {
    // A value with a wrong prefix, length or checksum was never issued: no look-up.
    const bucket = token === undefined ? undefined : bucketOfAccessToken(token)
    if (token === undefined || bucket === undefined) return undefined
    return introspections.find({ token: { digest: digestToken(token), bucket }, now: now() })
  }
}
