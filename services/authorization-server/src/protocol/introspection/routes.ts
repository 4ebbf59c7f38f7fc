import {
  bucketOfAccessToken,
  hashToken,
  type IntrospectionResponse,
  introspectionResponse,
  OAuthError,
  readClientCredentials
} from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { authenticateResourceServer } from '../../platform/client-authentication/authenticate-resource-server.js'
import type { Limiter } from '../../platform/rate-limits/limiter.js'
import { authorizationHeaders, formOf } from '../../platform/request-parts.js'
import type { Usage } from '../../platform/usage.js'
import type { FoundAccessToken, IntrospectionStore } from '../../storage/postgres/introspections.js'
import type { ResourceServerStore } from '../../storage/postgres/resource-servers.js'

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
    grant_id: { type: 'string' },
    auth_time: { type: 'integer' },
    cnf: {
      type: 'object',
      required: ['jkt'],
      properties: { jkt: { type: 'string' } },
      description: 'of a token that is bound to a key (RFC 9449 §6.2)'
    },
    authorization_details: {
      type: 'array',
      description: 'what the user chose at the API, for a scope that selects (RFC 9396 §9.2)',
      items: {
        type: 'object',
        required: ['type', 'identifier'],
        properties: { type: { type: 'string' }, identifier: { type: 'string' } }
      }
    }
  }
}

/** Most tokens in one request: well within the body limit, and in one lookup. */
const MOST_TOKENS = 64

/**
 * `POST /introspect` (RFC 7662), and `POST /introspections` for several tokens at once, on the internal listener only.
 * `token_type_hint` is not needed: the prefix shows the type.
 */
export const introspectionRoutes: FastifyPluginAsync<{
  issuer: string
  resourceServers: Pick<ResourceServerStore, 'findWithSecret'>
  /** Counts failed credentials. */
  limiter: Pick<Limiter, 'count'>
  introspections: IntrospectionStore
  /** Time of the last use of grants, and of the credentials of resource servers. */
  usage: { grants: Pick<Usage, 'note'>; resourceServers: Pick<Usage, 'note'> }
  /** Called with the result for each token. */
  onResult?: (isActive: boolean) => void
  /** Postgres's clock. */
  now: () => Date
}> = async (oauth, options) => {
  const { issuer, introspections, usage, onResult, now } = options

  // A guard computes the remaining lifetime of a token from this header, so it does not depend on its own clock.
  oauth.addHook('onSend', (_request, reply, payload, done) => {
    reply.header('date', dateText(now()))
    done(null, payload)
  })

  const one = { response: { 200: INTROSPECTION_RESPONSE } }
  oauth.post('/introspect', { schema: one }, async (request, reply): Promise<IntrospectionResponse> => {
    const audience = await authenticateCaller(request)
    const form = formOf(request)
    const token = form.get('token')
    if (form.isRepeated('token')) throw new OAuthError('invalid_request', 'The parameter token must be sent once.')
    if (token === undefined && !form.isMalformed('token')) {
      throw new OAuthError('invalid_request', 'The parameter token is missing.')
    }
    reply.headers(NO_STORE)
    return introspect(token, audience)
  })

  // An extension of RFC 7662: the introspections of concurrent requests of one API in one call (ADR 0018).
  const several = { response: { 200: { type: 'array', items: INTROSPECTION_RESPONSE } } }
  oauth.post('/introspections', { schema: several }, async (request, reply): Promise<IntrospectionResponse[]> => {
    const audience = await authenticateCaller(request)
    const tokens = formOf(request).get('tokens')?.split(' ')
    if (tokens === undefined || tokens.length > MOST_TOKENS) {
      const description = `The parameter tokens must be sent once, with 1 to ${MOST_TOKENS} tokens, separated by spaces.`
      throw new OAuthError('invalid_request', description)
    }
    reply.headers(NO_STORE)
    return Promise.all(tokens.map((token) => introspect(token, audience)))
  })

  /** Authenticates before anything else is validated or looked up: an unauthenticated caller learns nothing. */
  async function authenticateCaller(request: FastifyRequest): Promise<string> {
    const credentials = readClientCredentials(authorizationHeaders(request), formOf(request))
    const { clientId, audience } = await authenticateResourceServer(credentials, request.ip, options)
    usage.resourceServers.note(clientId)
    return audience
  }

  async function introspect(token: string | undefined, audience: string): Promise<IntrospectionResponse> {
    const found = await findAccessToken(token)
    const response = introspectionResponse(found, { audience, issuer })
    // Writing a use costs Postgres more than the introspection, so a grant gets at most one write in an hour.
    if (response.active && found?.lastUseIsOld) usage.grants.note(response.grant_id)
    onResult?.(response.active)
    return response
  }

  function findAccessToken(token: string | undefined): Promise<FoundAccessToken | undefined> | undefined {
    // A value with a wrong prefix, length or checksum was never issued, so it needs no lookup.
    const bucket = token === undefined ? undefined : bucketOfAccessToken(token)
    if (token === undefined || bucket === undefined) return undefined
    return introspections.find({ hash: hashToken(token), bucket })
  }
}

let dated = { second: 0, text: '' }

/** A date as in HTTP (RFC 9110 §5.6.7). Its text is made once a second. */
function dateText(time: Date): string {
  const second = Math.floor(time.getTime() / 1_000)
  if (second !== dated.second) dated = { second, text: time.toUTCString() }
  return dated.text
}

const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' }
