import type { FastifyPluginAsync } from 'fastify'
import { OPERATOR_PURPOSES, type OperatorPurpose } from '../../storage/postgres/operator-keys.js'
import {
  createOperatorKey,
  type OperatorKeyAdministration,
  operatorKeyDocument,
  revocationDocument,
  revokeOperatorKey
} from '../use-cases/administer-operator-keys.js'
import { authorOf } from './authenticate-operator.js'
import { jsonResponse, object, problemResponses, recordId, text, time } from './response-schemas.js'

const purpose = {
  type: 'string',
  enum: OPERATOR_PURPOSES,
  description: '`read`: only GET. `revoke-users`: only global token revocation. Absent: everything.'
} as const

const properties = {
  operator_key_id: recordId('The operator key id.'),
  name: text('The name in audit events.'),
  purpose,
  created_at: time('UTC.'),
  created_by: recordId(
    'The key that created this one; revoking it revokes this key, too. Absent if the command line created it.'
  ),
  last_used_at: time('Accurate to a minute; absent if never used.'),
  revoked_at: time('Absent while the key is live.')
}
const optional = ['purpose', 'created_by', 'last_used_at', 'revoked_at'] as const
const operatorKey = object(properties, optional)
const alsoRevoked = {
  type: 'integer',
  description: 'The number of keys revoked with it, because they were created with it, directly or indirectly.'
}
const revoked = object({ ...properties, also_revoked: alsoRevoked }, optional)

const created = object({
  operator_key_id: recordId('The operator key id.'),
  operator_key: text('The key, shown only once.')
})

/** `/admin/operator-keys` */
export const operatorKeyRoutes: FastifyPluginAsync<OperatorKeyAdministration> = async (admin, deps) => {
  const listSchema = {
    operationId: 'listOperatorKeys',
    summary: 'List all operator keys, including revoked ones',
    response: {
      200: jsonResponse('Oldest first.', object({ operator_keys: { type: 'array', items: operatorKey } })),
      ...problemResponses
    }
  }
  admin.get('/operator-keys', { schema: listSchema }, async () => ({
    operator_keys: (await deps.operatorKeys.list()).map(operatorKeyDocument)
  }))

  const createSchema = {
    operationId: 'createOperatorKey',
    summary: 'Create an operator key; revoking the key of this request revokes it, too',
    body: object({ name: text('1 to 100 characters; no other live key may have it.'), purpose }, ['purpose']),
    response: { 201: jsonResponse('The key, which is shown only once.', created), ...problemResponses }
  }
  admin.post<{ Body: { name: string; purpose?: OperatorPurpose } }>(
    '/operator-keys',
    { schema: createSchema },
    async (request, reply) => {
      const made = await createOperatorKey(request.body, authorOf(request), deps)
      reply.code(201)
      return { operator_key_id: made.key.operatorKeyId, operator_key: made.operatorKey }
    }
  )

  const revokeSchema = {
    operationId: 'revokeOperatorKey',
    summary: 'Revoke an operator key and all keys created with it; safe to repeat',
    params: object({ operator_key_id: text('The operator key id.') }),
    response: { 200: jsonResponse('The revoked key.', revoked), ...problemResponses }
  }
  admin.delete<{ Params: { operator_key_id: string } }>(
    '/operator-keys/:operator_key_id',
    { schema: revokeSchema },
    async (request) =>
      revocationDocument(await revokeOperatorKey(request.params.operator_key_id, authorOf(request), deps))
  )
}
