import type { FastifyPluginAsync } from 'fastify'
import { authorOf } from '../../operator/http/authenticate-operator.js'
import { jsonResponse, object, problemResponses, recordId, text, time } from '../../operator/http/response-schemas.js'
import { listPasskeys, type PasskeyAdministration, passkeyDocument, removePasskeys } from './administer-passkeys.js'

type OfUser = { Params: { user_id: string } }

const PATH = '/users/:user_id/passkeys'

const passkey = object(
  {
    passkey_id: text('The credential id (WebAuthn), in base64url.'),
    name: text('As the user named it.'),
    synced: { type: 'boolean', description: 'It can be copied to other devices of the user.' },
    created_at: time('UTC.'),
    last_used_at: time('UTC; absent if it was never used.')
  },
  ['last_used_at']
)
const params = object({ user_id: text('The user id.') })

const listSchema = {
  operationId: 'listPasskeys',
  summary: 'List the passkeys of a user',
  params,
  response: {
    200: jsonResponse('The oldest first.', object({ passkeys: { type: 'array', items: passkey } })),
    ...problemResponses
  }
} as const

const removed = object({
  user_id: recordId('The user.'),
  removed: { type: 'integer', description: 'The number of removed passkeys.' }
})

const removeSchema = {
  operationId: 'removePasskeys',
  summary: 'Remove all passkeys of a user; all sessions of the user end, unless there was no passkey',
  params,
  response: { 200: jsonResponse('The passkeys are removed.', removed), ...problemResponses }
} as const

/** `/admin/users/{user_id}/passkeys` */
export const passkeyRoutes: FastifyPluginAsync<PasskeyAdministration> = async (admin, deps) => {
  admin.get<OfUser>(PATH, { schema: listSchema }, async ({ params: { user_id } }) => {
    const passkeys = await listPasskeys(user_id, deps)
    return { passkeys: passkeys.map(passkeyDocument) }
  })

  admin.delete<OfUser>(PATH, { schema: removeSchema }, async (request) => {
    const { user_id } = request.params
    return { user_id, removed: await removePasskeys(user_id, authorOf(request), deps) }
  })
}
