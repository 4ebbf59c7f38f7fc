import type { FastifyPluginAsync } from 'fastify'
import { authorOf } from '../../operator/http/authenticate-operator.js'
import { object, problemResponses, text } from '../../operator/http/response-schemas.js'
import { endUserAccess, type UserAccessAdministration } from './end-user-access.js'
import { findSubject, type SubjectIdentifier, type SubjectSources } from './find-subject.js'

const identifier = {
  type: 'object',
  required: ['format'],
  description: 'A subject identifier (RFC 9493).',
  properties: {
    format: text('`iss_sub` or `opaque`.'),
    iss: text('Of `iss_sub`: this server, or a provider to which users are linked.'),
    sub: text('Of `iss_sub`: the user id here, or the subject at the provider.'),
    id: text('Of `opaque`: the user id.')
  }
} as const

const schema = {
  operationId: 'revokeUser',
  summary: 'End all sessions and tokens of a user, who may sign in again; safe to repeat',
  body: object({ sub_id: identifier }),
  response: { 204: { type: 'null', description: 'They have ended, for APIs with a cache, too.' }, ...problemResponses }
} as const

/** `POST /admin/global-token-revocation` (draft-parecki-oauth-global-token-revocation-04). */
export const globalRevocationRoutes: FastifyPluginAsync<UserAccessAdministration & SubjectSources> = async (
  admin,
  deps
) => {
  const route = { schema, config: { operatorPurpose: 'revoke-users' } } as const
  admin.post<{ Body: { sub_id: SubjectIdentifier } }>('/global-token-revocation', route, async (request, reply) => {
    const { userId } = await findSubject(request.body.sub_id, deps)
    await endUserAccess(userId, authorOf(request), deps)
    return reply.code(204).send()
  })
}
