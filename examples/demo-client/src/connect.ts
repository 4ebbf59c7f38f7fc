import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as oauth from 'openid-client'
import { connectionFrom, type Discover, revoke } from './access.js'
import { Problem } from './problems.js'
import type { Sessions } from './sessions.js'

type Options = { sessions: Sessions; discover: Discover; redirectUri: string }

/** The authorization code flow: to Valetkey, back with a code, and the end of the access. */
export async function connectRoutes(app: FastifyInstance, { sessions, discover, redirectUri }: Options) {
  // 1. The browser goes to Valetkey; state and verifier stay here (RFC 6749 §10.12, RFC 7636 §4.1).
  // Our button sends a POST. A link works, too, because a start alone changes no data.
  app.route({ method: ['GET', 'POST'], url: '/connect', exposeHeadRoute: false, handler: start })
  async function start(request: FastifyRequest, reply: FastifyReply) {
    const { flows } = sessions.open(request, reply)
    const server = await discover()
    const state = oauth.randomState()
    const verifier = oauth.randomPKCECodeVerifier()
    flows.set(state, verifier)
    const address = oauth.buildAuthorizationUrl(server, {
      redirect_uri: redirectUri,
      scope: 'files.read',
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256'
    })
    return reply.redirect(address.href, 303)
  }

  // 2. The browser comes back with a code, which this server exchanges for tokens.
  app.get('/callback', { exposeHeadRoute: false }, async (request, reply) => {
    const session = sessions.open(request, reply)
    // The library repeats this address as the redirect URI, so it comes from the settings and not from request headers.
    const callback = new URL(redirectUri)
    callback.search = request.url.replace(/^[^?]*/, '')
    const state = callback.searchParams.get('state') ?? ''
    const verifier = session.flows.get(state)
    if (verifier === undefined) throw new Problem('flow_unknown')
    // A state is valid for one response (RFC 9700 §4.7.1).
    session.flows.delete(state)
    // Checks iss (RFC 9207) and state before `error` and `code`.
    const checks = { expectedState: state, pkceCodeVerifier: verifier }
    const tokens = await oauth.authorizationCodeGrant(await discover(), callback, checks)
    const before = session.connection
    session.connection = connectionFrom(tokens)
    sessions.changeId(request, reply, session)
    request.log.info({ event: 'connected' }, 'connected')
    // The new grant replaces an older one, which would otherwise stay valid and unused.
    if (before !== undefined) await revoke(before, discover).catch((err) => request.log.warn({ err }, 'not revoked'))
    return reply.redirect('/files', 303)
  })

  // 3. The user ends the access.
  app.post('/disconnect', async (request, reply) => {
    const session = sessions.find(request)
    if (session?.connection === undefined) return reply.redirect('/', 303)
    const { connection } = session
    // First here, so that the browser is disconnected even if the authorization server fails.
    session.connection = undefined
    sessions.changeId(request, reply, session)
    try {
      await revoke(connection, discover)
    } catch (error) {
      throw new Problem('disconnected_only_here', error)
    }
    request.log.info({ event: 'disconnected' }, 'disconnected')
    session.notice = 'You are disconnected. Photo Printer can no longer see your files.'
    return reply.redirect('/', 303)
  })
}
