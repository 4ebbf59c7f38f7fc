import { OAuthError } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync } from 'fastify'
import {
  authenticateClient,
  type ClientAuthenticationDeps
} from '../../platform/client-authentication/authenticate-client.js'
import { formOf } from '../../platform/request-parts.js'
import { type RevokeDeps, revokeToken } from './revoke-token.js'

/** `POST /oauth/revoke` (RFC 7009). The body is `{}`, because widely used libraries refuse a response that is not JSON. */
export const revocationRoutes: FastifyPluginAsync<ClientAuthenticationDeps & RevokeDeps> = async (oauth, deps) => {
  const schema = { response: { 200: { type: 'object', properties: {} } } }
  oauth.post('/oauth/revoke', { schema }, async (request, reply) => {
    const form = formOf(request)
    const unreadable = ['token', 'token_type_hint'].find((name) => form.isRepeated(name) || form.isMalformed(name))
    if (unreadable) throw new OAuthError('invalid_request', `The parameter ${unreadable} is repeated or malformed.`)
    const client = await authenticateClient(request, deps)
    const token = form.get('token')
    if (token === undefined) throw new OAuthError('invalid_request', 'The parameter token is missing.')
    await revokeToken(token, client, deps, request)
    reply.header('cache-control', 'no-store')
    return {}
  })
}
