import type { FastifyPluginAsync } from 'fastify'
import {
  createOperatorKey,
  type OperatorKeyAdministration,
  operatorKeyDocument,
  revocationDocument,
  revokeOperatorKey
} from '../use-cases/administer-operator-keys.js'
import { jsonAnswer, object, problemAnswers, recordId, text, time } from './answer-schemas.js'
import { authorOf } from './authenticate-operator.js'

export type OperatorKeyRouteOptions = OperatorKeyAdministration

const properties = {
  operator_key_id: recordId('Its id.'),
  name: text('As audit entries name it.'),
  created_at: time('UTC.'),
  created_by: recordId('The key that made it, and with which it is revoked; absent if the command line made it.'),
  last_used_at: time('To within a minute; absent if it never was.'),
  revoked_at: time('Absent while it is live.')
}
const optional = ['created_by', 'last_used_at', 'revoked_at'] as const
const operatorKey = object(properties, optional)
const alsoRevoked = {
  type: 'integer',
  description: 'How many keys that were made with it, directly or not, were revoked now as well.'
}
const revoked = object({ ...properties, also_revoked: alsoRevoked }, optional)

const created = object({ operator_key_id: recordId('Its id.'), operator_key: text('The key. Shown this once only.') })

/** `/admin/operator-keys` */
export const operatorKeyRoutes: FastifyPluginAsync<OperatorKeyRouteOptions> = async (admin, deps) => {
  const listSchema = {
    operationId: 'listOperatorKeys',
    summary: 'All operator keys there ever were',
    response: {
      200: jsonAnswer('The oldest first.', object({ operator_keys: { type: 'array', items: operatorKey } })),
      ...problemAnswers
    }
  }
  admin.get('/operator-keys', { schema: listSchema }, async () => ({
    operator_keys: (await deps.operatorKeys.list()).map(operatorKeyDocument)
  }))

  const createSchema = {
    operationId: 'createOperatorKey',
    summary: 'Make an operator key, which is revoked together with the one that makes it',
    body: object({ name: text('1 to 100 characters; no other live key may have it.') }),
    response: { 201: jsonAnswer('The key, this once only.', created), ...problemAnswers }
  }
  admin.post<{ Body: { name: string } }>('/operator-keys', { schema: createSchema }, async (request, reply) => {
    const made = await createOperatorKey(request.body, authorOf(request), deps)
    reply.code(201)
    return { operator_key_id: made.key.operatorKeyId, operator_key: made.operatorKey }
  })

  const revokeSchema = {
    operationId: 'revokeOperatorKey',
    summary: 'End an operator key for good, with all that were made with it; once more changes nothing',
    params: object({ operator_key_id: text('Its id.') }),
    response: { 200: jsonAnswer('The key as it is now.', revoked), ...problemAnswers }
  }
  admin.delete<{ Params: { operator_key_id: string } }>(
    '/operator-keys/:operator_key_id',
    { schema: revokeSchema },
    async (request) =>
      revocationDocument(await revokeOperatorKey(request.params.operator_key_id, authorOf(request), deps))
  )
}
