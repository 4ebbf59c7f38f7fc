import type { FastifyPluginAsync } from 'fastify'
import {
  clientSecretDocument,
  deleteClientSecret,
  KEEP_OLD_FOR,
  listClientSecrets,
  rotateClientSecret
} from '../use-cases/administer-client-secrets.js'
import { jsonAnswer, object, problemAnswers, text } from './answer-schemas.js'
import { authorOf } from './authenticate-operator.js'
import type { ClientRouteOptions } from './client-routes.js'
import { clientSecret } from './client-schemas.js'

type Params = { Params: { client_id: string } }
type SecretParams = { Params: { client_id: string; secret_id: string } }

const secrets = { type: 'array', items: clientSecret } as const

const toMake = {
  ...object(
    {
      keep_old_for: {
        type: 'integer',
        minimum: 0,
        maximum: KEEP_OLD_FOR.longest,
        default: KEEP_OLD_FOR.default,
        description: 'Seconds for which the old secret goes on; 0 ends every other one at once.'
      }
    },
    ['keep_old_for']
  )
} as const

/** `/admin/clients/{client_id}/secrets` */
export const clientSecretRoutes: FastifyPluginAsync<ClientRouteOptions> = async (admin, deps) => {
  const params = object({ client_id: text('Its id.') })

  const listSchema = {
    operationId: 'listClientSecrets',
    summary: 'The secrets of a client by their ids, and when each was last used',
    params,
    response: { 200: jsonAnswer('The oldest first.', object({ secrets })), ...problemAnswers }
  }
  admin.get<Params>('/clients/:client_id/secrets', { schema: listSchema }, async (request) => {
    const found = await listClientSecrets(request.params.client_id, deps)
    return { secrets: found.map((secret) => clientSecretDocument(secret)) }
  })

  const made = object({
    client_id: text('The client.'),
    client_secret: text('Shown this once only.'),
    secret_id: text('What audit events call it.'),
    old: { ...secrets, description: 'The others that were live, with their ends.' }
  })
  const rotateSchema = {
    operationId: 'rotateClientSecret',
    summary: 'Make a second secret; the old one goes on for a while',
    params,
    body: toMake,
    response: { 201: jsonAnswer('The secret, this once only.', made), ...problemAnswers }
  }
  admin.post<Params & { Body: { keep_old_for: number } | undefined }>(
    '/clients/:client_id/secrets',
    {
      schema: rotateSchema,
      // No body is one without members.
      preValidation: async (request) => {
        request.body ??= { keep_old_for: KEEP_OLD_FOR.default }
      }
    },
    async (request, reply) => {
      const { client_id: clientId } = request.params
      const command = { clientId, keepOldFor: request.body?.keep_old_for }
      const { clientSecret: value, secretId, old } = await rotateClientSecret(command, authorOf(request), deps)
      reply.code(201)
      return {
        client_id: clientId,
        client_secret: value,
        secret_id: secretId,
        old: old.map((secret) => clientSecretDocument(secret))
      }
    }
  )

  const deleteSchema = {
    operationId: 'deleteClientSecret',
    summary: 'End one secret at once; not the only one that is live',
    params: object({ client_id: text('The client.'), secret_id: text('The secret.') }),
    response: { 200: jsonAnswer('The secret, which has ended.', clientSecret), ...problemAnswers }
  }
  admin.delete<SecretParams>('/clients/:client_id/secrets/:secret_id', { schema: deleteSchema }, async (request) => {
    const { client_id: clientId, secret_id: secretId } = request.params
    const secret = await deleteClientSecret({ clientId, secretId }, authorOf(request), deps)
    return { ...clientSecretDocument(secret), live: false }
  })
}
