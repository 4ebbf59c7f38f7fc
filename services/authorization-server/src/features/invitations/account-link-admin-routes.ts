import type { FastifyPluginAsync } from 'fastify'
import { authorOf } from '../../operator/http/authenticate-operator.js'
import { jsonResponse, object, problemResponses, recordId, text, time } from '../../operator/http/response-schemas.js'
import { type AccountLinkAdministration, giveAccountLink, givenLinkDocument } from './give-account-link.js'

type NewLink = { Params: { user_id: string }; Querystring: { language?: string } }

const givenLink = object(
  {
    user_id: recordId('The `sub` of tokens.'),
    username: text('The name to sign in with.'),
    url: text('The link, for one use. It cannot be read again.'),
    expires_at: time('UTC.'),
    mailed: { type: 'boolean', description: 'The mail server accepted a mail with the link.' },
    mail_problem: text('Why no mail was sent, if one should have been.')
  },
  ['mail_problem']
)

/** The schema of an operation that makes a link. */
function givesLink(operationId: string, summary: string) {
  return {
    operationId,
    summary,
    params: object({ user_id: text('The user id.') }),
    querystring: object({ language: text('Of the mail, such as `de`; default `en`.') }, ['language']),
    response: { 201: jsonResponse('The link.', givenLink), ...problemResponses }
  } as const
}

const inviteUser = givesLink(
  'inviteUser',
  'Make a link, valid for 72 hours, with which the user sets a password or links a provider; ends the earlier link'
)
const createResetLink = givesLink(
  'createResetLink',
  'Make a link, valid for one hour, with which the user sets a new password; ends the earlier link'
)

/** `/admin/users/{user_id}/invitation` and `/admin/users/{user_id}/reset-link` */
export const accountLinkAdminRoutes: FastifyPluginAsync<AccountLinkAdministration> = async (admin, deps) => {
  admin.post<NewLink>('/users/:user_id/invitation', { schema: inviteUser }, async (request, reply) => {
    const command = { userId: request.params.user_id, purpose: 'invitation', ...request.query } as const
    reply.code(201)
    return givenLinkDocument(await giveAccountLink(command, authorOf(request), deps))
  })

  admin.post<NewLink>('/users/:user_id/reset-link', { schema: createResetLink }, async (request, reply) => {
    const command = { userId: request.params.user_id, purpose: 'password_reset', ...request.query } as const
    reply.code(201)
    return givenLinkDocument(await giveAccountLink(command, authorOf(request), deps))
  })
}
