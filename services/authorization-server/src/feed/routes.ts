import { OAuthError, readClientCredentials } from '@valetkey/oauth-protocol'
import { StoreUnavailable } from '@valetkey/service-kit'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { authenticateResourceServer } from '../platform/client-authentication/authenticate-resource-server.js'
import type { Limiter } from '../platform/rate-limits/limiter.js'
import { authorizationHeaders, formOf } from '../platform/request-parts.js'
import type { Usage } from '../platform/usage.js'
import type { ResourceServerStore } from '../storage/postgres/resource-servers.js'
import type { Credential } from './credential-check.js'
import { openEventStream } from './event-stream.js'
import type { RevocationChannel } from './revocation-channel.js'

const BASE64URL_ID = /^[A-Za-z0-9_-]{16,64}$/

/** `GET /revocations`: stream of revocation events. `POST /revocations`: a guard's nonce, which returns as a proof on its stream. */
export const feedRoutes: FastifyPluginAsync<{
  channel: Pick<RevocationChannel, 'markCredentials' | 'subscribe' | 'relay' | 'endStreams'>
  resourceServers: Pick<ResourceServerStore, 'findWithSecret'>
  /** Counts failed credentials. */
  limiter: Pick<Limiter, 'count'>
  /** Time of the last use of each resource server's credentials. */
  usage: Pick<Usage, 'note'>
  keepAliveMs: number
  draining?: AbortSignal | undefined
}> = async (internal, options) => {
  const { channel, resourceServers, limiter, usage, keepAliveMs, draining } = options
  let closing = false
  const close = (): void => {
    closing = true
    channel.endStreams()
  }
  // Streams end at the start of the drain, so that guards reconnect to another process while this one still responds, and
  // before the listener closes: it waits for open connections.
  draining?.addEventListener('abort', close)
  internal.addHook('preClose', async () => close())

  // HEAD would open a stream that has no body.
  internal.get('/revocations', { exposeHeadRoute: false, config: { isStream: true } }, async (request, reply) => {
    const mark = channel.markCredentials()
    const credential = await authenticate(request)
    // The subscriber disconnected during authentication: there would be no close event for its stream.
    if (reply.raw.destroyed) return reply.hijack()
    if (closing) throw new StoreUnavailable('postgres', new Error('this server is closing'))
    channel.subscribe(credential, mark, (onClose) => openEventStream(reply, { keepAliveMs, onClose }))
    return reply
  })

  // Routine: every guard sends one each second, so the access log has these requests at level debug only.
  internal.post('/revocations', { config: { isRoutine: true } }, async (request, reply) => {
    await authenticate(request)
    const form = formOf(request)
    const [stream, nonce] = [form.get('stream'), form.get('nonce')]
    if (stream === undefined || nonce === undefined || !BASE64URL_ID.test(stream) || !BASE64URL_ID.test(nonce)) {
      throw new OAuthError('invalid_request', 'The parameters stream and nonce must be 16 to 64 base64url characters.')
    }
    await channel.relay(stream, nonce)
    return reply.code(204).header('cache-control', 'no-store').send()
  })

  async function authenticate(request: FastifyRequest): Promise<Credential> {
    const credentials = readClientCredentials(authorizationHeaders(request), formOf(request))
    const { clientId, audience, secretHash } = await authenticateResourceServer(credentials, request.ip, {
      resourceServers,
      limiter
    })
    usage.note(clientId)
    return { clientId, audience, secretHash }
  }
}
