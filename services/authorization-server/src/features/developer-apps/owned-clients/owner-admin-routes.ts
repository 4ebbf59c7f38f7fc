import type { FastifyPluginAsync } from 'fastify'
import { authorOf } from '../../../operator/http/authenticate-operator.js'
import { jsonResponse, object, problemResponses, recordId, text } from '../../../operator/http/response-schemas.js'
import {
  changeOwnership,
  findOwnership,
  MOST_OWNERS,
  type OwnerAdministration,
  ownershipDocument,
  readOwnership
} from './administer-owners.js'

const flag = (description: string) => ({ type: 'boolean', description }) as const

const owner = object({
  user_id: recordId('The user.'),
  username: text('The user name.'),
  disabled: flag('The user is disabled.')
})

const ownership = object({
  owners: { type: 'array', items: owner },
  owner_secrets: flag('Whether the owners may add and end secrets; always true for an app that a user registered.')
})

const params = object({ client_id: text('The client id; a URL percent-encoded.') })
const response = { 200: jsonResponse('The owners.', ownership), ...problemResponses }

const getSchema = {
  operationId: 'getClientOwners',
  summary: 'Get the users who look after a client',
  params,
  response
} as const

const setSchema = {
  operationId: 'setClientOwners',
  summary: 'Replace the users who look after a client; safe to repeat',
  params,
  body: object(
    {
      owners: {
        type: 'array',
        maxItems: MOST_OWNERS,
        items: { type: 'string' },
        description: 'All owners, by user id or name; empty: none. An app that a user registered has at least one.'
      },
      owner_secrets: flag('Whether the owners may add and end secrets; omitted: unchanged.')
    },
    ['owner_secrets']
  ),
  response
} as const

type Params = { Params: { client_id: string } }

/** `/admin/clients/{client_id}/owners` */
export const clientOwnerRoutes: FastifyPluginAsync<OwnerAdministration> = async (admin, deps) => {
  admin.get<Params>('/clients/:client_id/owners', { schema: getSchema }, async ({ params: { client_id: clientId } }) =>
    ownershipDocument(await findOwnership(clientId, deps))
  )

  admin.put<Params & { Body: { owners: readonly string[]; owner_secrets?: boolean } }>(
    '/clients/:client_id/owners',
    { schema: setSchema },
    async (request) => {
      const { owners, owner_secrets: ownersChangeSecrets } = request.body
      const change = await readOwnership({ owners, ownersChangeSecrets }, deps)
      return ownershipDocument(await changeOwnership(request.params.client_id, change, authorOf(request), deps))
    }
  )
}
