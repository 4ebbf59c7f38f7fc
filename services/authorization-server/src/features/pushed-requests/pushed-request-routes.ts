import type { FastifyPluginAsync } from 'fastify'
import {
  authenticateClient,
  type ClientAuthenticationDeps
} from '../../platform/client-authentication/authenticate-client.js'
import type { SenderConstraint } from '../../platform/sender-constraint.js'
import { type PushDeps, pushRequest } from './push-request.js'
import { encodedFormOf, keepForms } from './pushed-form.js'

/** As for the query of /oauth/authorize. Percent-encoded, so a character is a byte. */
const MAX_BODY_LENGTH = 8_000

const PUSHED_RESPONSE = {
  type: 'object',
  required: ['request_uri', 'expires_in'],
  properties: {
    request_uri: { type: 'string', description: 'For `/oauth/authorize`, with `client_id`.' },
    expires_in: { type: 'integer', description: 'seconds' }
  }
}

export const PUSH_PATH = '/oauth/par'

type Deps = PushDeps & {
  authentication: ClientAuthenticationDeps
  /** Undefined: no proof is read. */
  senderConstraint: SenderConstraint | undefined
}

/** `POST /oauth/par` (RFC 9126 §2): form in, JSON out. Errors are JSON too, and never a redirect (§2.3). */
export const pushedRequestRoutes: FastifyPluginAsync<Deps> = async (oauth, deps) => {
  keepForms(oauth)
  const route = { bodyLimit: MAX_BODY_LENGTH, schema: { response: { 201: PUSHED_RESPONSE } } }
  oauth.post(PUSH_PATH, route, async (request, reply) => {
    const client = await authenticateClient(request, deps.authentication)
    // A proof is never required here: a client may send dpop_jkt instead, or no key before the exchange (RFC 9449 §10.1).
    const proof = deps.senderConstraint?.verify(request, reply, PUSH_PATH, undefined)
    const sent = { body: encodedFormOf(request), address: request.ip, dpopJkt: proof && (await proof) }
    const pushed = await pushRequest(sent, client, deps)
    return reply.code(201).header('cache-control', 'no-store').header('pragma', 'no-cache').send(pushed)
  })
}
