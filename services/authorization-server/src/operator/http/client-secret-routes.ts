import type { FastifyPluginAsync } from 'fastify'
import type { Page } from '../../storage/postgres/page.js'
import type { ClientAdministration } from '../use-cases/administer-client.js'
import {
  clientSecretDocument,
  deleteClientSecret,
  KEEP_OLD_FOR,
  listClientSecrets,
  listLiveSecrets,
  rotateClientSecret,
  secretOfClientDocument
} from '../use-cases/administer-client-secrets.js'
import { authorOf } from './authenticate-operator.js'
import { clientSecret, secretOfClient } from './client-schemas.js'
import { jsonResponse, next, object, pageParameters, problemResponses, text } from './response-schemas.js'

type Params = { Params: { client_id: string } }
type SecretParams = { Params: { client_id: string; secret_id: string } }

const secrets = { type: 'array', items: clientSecret } as const
const secretsOfClients = { type: 'array', items: secretOfClient } as const

const toMake = {
  ...object(
    {
      keep_old_for: {
        type: 'integer',
        minimum: 0,
        maximum: KEEP_OLD_FOR.longest,
        default: KEEP_OLD_FOR.default,
        description: 'Seconds that the old secret stays valid; 0 ends all other secrets immediately.'
      }
    },
    ['keep_old_for']
  )
} as const

const listAllSchema = {
  operationId: 'listLiveClientSecrets',
  summary: 'List the valid secrets of all clients and when each was last used, in pages',
  querystring: object(pageParameters, ['after', 'limit']),
  response: {
    200: jsonResponse('By client and id.', object({ secrets: secretsOfClients, next }, ['next'])),
    ...problemResponses
  }
}

/** `/admin/clients/{client_id}/secrets` and `/admin/client-secrets` */
export const clientSecretRoutes: FastifyPluginAsync<ClientAdministration> = async (admin, deps) => {
  const params = object({ client_id: text('The client id.') })

  const listSchema = {
    operationId: 'listClientSecrets',
    summary: 'List the ids of a client’s secrets and when each was last used',
    params,
    response: { 200: jsonResponse('Oldest first.', object({ secrets })), ...problemResponses }
  }
  admin.get<Params>('/clients/:client_id/secrets', { schema: listSchema }, async (request) => {
    const found = await listClientSecrets(request.params.client_id, deps)
    return { secrets: found.map((secret) => clientSecretDocument(secret)) }
  })

  admin.get<{ Querystring: Page }>('/client-secrets', { schema: listAllSchema }, async ({ query }) => {
    const { entries, next: place } = await listLiveSecrets(query, deps)
    return { secrets: entries.map(secretOfClientDocument), next: place }
  })

  const made = object({
    client_id: text('The client id.'),
    client_secret: text('Shown only once.'),
    secret_id: text('The id in audit events.'),
    old: { ...secrets, description: 'The other live secrets, with their expiry.' }
  })
  const rotateSchema = {
    operationId: 'rotateClientSecret',
    summary: 'Create a second secret; the old one stays valid for a while',
    params,
    body: toMake,
    response: { 201: jsonResponse('The secret, which is shown only once.', made), ...problemResponses }
  }
  admin.post<Params & { Body: { keep_old_for: number } | undefined }>(
    '/clients/:client_id/secrets',
    {
      schema: rotateSchema,
      // An empty body is an object without members.
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
    summary: 'End a secret immediately; refused for the only live one',
    params: object({ client_id: text('The client id.'), secret_id: text('The secret id.') }),
    response: { 200: jsonResponse('The ended secret.', clientSecret), ...problemResponses }
  }
  admin.delete<SecretParams>('/clients/:client_id/secrets/:secret_id', { schema: deleteSchema }, async (request) => {
    const { client_id: clientId, secret_id: secretId } = request.params
    const secret = await deleteClientSecret({ clientId, secretId }, authorOf(request), deps)
    return { ...clientSecretDocument(secret), live: false }
  })
}
