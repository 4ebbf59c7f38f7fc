import type { FastifyPluginAsync } from 'fastify'
import { authorOf } from '../../operator/http/authenticate-operator.js'
import { jsonResponse, object, problemResponses, text, time } from '../../operator/http/response-schemas.js'
import {
  addClientKeys,
  type ClientKeyAdministration,
  clientKeyDocument,
  listClientKeys,
  removeClientKey
} from './administer-client-keys.js'

const anyObject = { type: 'object', additionalProperties: true } as const

const key = object(
  {
    kid: text('The id of the key, unique for the client; without one its thumbprint (RFC 7638).'),
    jwk: { ...anyObject, description: 'The public key (RFC 7517).' },
    created_at: time('UTC.'),
    last_used_at: time('Accurate to a few minutes; absent if never used.')
  },
  ['last_used_at']
)

const clientId = text('The client id.')
const params = object({ client_id: clientId })
const keys = object({ keys: { type: 'array', items: key } })

const listSchema = {
  operationId: 'listClientKeys',
  summary: 'List the registered public keys of a client, oldest first',
  params,
  response: { 200: jsonResponse('The keys.', keys), ...problemResponses }
} as const

const addSchema = {
  operationId: 'addClientKeys',
  summary: 'Add public keys of a client with auth_method private_key_jwt; safe to repeat',
  params,
  body: object({ keys: { type: 'array', items: anyObject, description: 'Public keys (RFC 7517 §5).' } }),
  response: { 200: jsonResponse('All keys of the client.', keys), ...problemResponses }
} as const

const removeSchema = {
  operationId: 'removeClientKey',
  summary: 'Remove a public key of a client at once, except the last one',
  params: object({ client_id: clientId, kid: text('The id of the key, percent-encoded.') }),
  response: { 200: jsonResponse('The keys that are left.', keys), ...problemResponses }
} as const

type Params = { Params: { client_id: string } }

/** `/admin/clients/{client_id}/keys` */
export const clientKeyRoutes: FastifyPluginAsync<ClientKeyAdministration> = async (admin, deps) => {
  admin.get<Params>('/clients/:client_id/keys', { schema: listSchema }, async ({ params: { client_id: id } }) => ({
    keys: (await listClientKeys(id, deps)).map(clientKeyDocument)
  }))

  admin.post<Params>('/clients/:client_id/keys', { schema: addSchema }, async (request) => {
    const command = { clientId: request.params.client_id, jwks: request.body }
    return { keys: (await addClientKeys(command, authorOf(request), deps)).map(clientKeyDocument) }
  })

  admin.delete<{ Params: { client_id: string; kid: string } }>(
    '/clients/:client_id/keys/:kid',
    { schema: removeSchema },
    async (request) => {
      const command = { clientId: request.params.client_id, kid: request.params.kid }
      return { keys: (await removeClientKey(command, authorOf(request), deps)).map(clientKeyDocument) }
    }
  )
}
