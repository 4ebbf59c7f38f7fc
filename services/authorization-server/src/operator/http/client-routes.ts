import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import type { ClientOrigin } from '../../storage/postgres/clients.js'
import type { Page } from '../../storage/postgres/page.js'
import {
  type ClientAdministration,
  deleteClient,
  disableClient,
  enableClient,
  findClient,
  listClients,
  updateClient
} from '../use-cases/administer-client.js'
import { clientDocument } from '../use-cases/client-document.js'
import { type GivenMembers, settingsOfMembers } from '../use-cases/client-members.js'
import { registerClient } from '../use-cases/register-client.js'
import { authorOf } from './authenticate-operator.js'
import { client, clientToCreate, clientToUpdate, createdClient, origin } from './client-schemas.js'
import { jsonResponse, next, object, pageParameters, problemResponses, text } from './response-schemas.js'

type Params = { Params: { client_id: string } }
type CreateBody = GivenMembers & { name: string; redirect_uris: readonly string[]; type?: 'confidential' | 'public' }

const params = object({ client_id: text('The client id; a URL percent-encoded.') })
const clientResponse = { 200: jsonResponse('The client.', client), ...problemResponses }

const listSchema = {
  operationId: 'listClients',
  summary: 'List clients by id, in pages',
  querystring: object({ origin, ...pageParameters }, ['origin', 'limit', 'after']),
  response: {
    200: jsonResponse('A page of clients.', object({ clients: { type: 'array', items: client }, next }, ['next'])),
    ...problemResponses
  }
}

const createSchema = {
  operationId: 'createClient',
  summary: 'Register a client',
  body: clientToCreate,
  response: {
    201: jsonResponse('The client, with its secret, which is shown only once.', createdClient),
    ...problemResponses
  }
}

/** `/admin/clients` */
export const clientRoutes: FastifyPluginAsync<ClientAdministration> = async (admin, deps) => {
  admin.get<{ Querystring: Page & { origin?: ClientOrigin } }>(
    '/clients',
    { schema: listSchema },
    async ({ query }) => {
      const { entries, next: place } = await listClients(query, deps, query.origin)
      return { clients: entries.map(clientDocument), next: place }
    }
  )

  admin.post<{ Body: CreateBody }>('/clients', { schema: createSchema }, async (request, reply) => {
    const { auth_method: method, name, redirect_uris: redirectUris } = request.body
    const { type = method === 'none' ? 'public' : 'confidential' } = request.body
    const registration = { ...settingsOfMembers(request.body), name, redirectUris, type }
    const made = await registerClient(registration, authorOf(request), deps)
    reply.code(201)
    return {
      ...clientDocument(made.client),
      ...(made.secret && { client_secret: made.secret.clientSecret, secret_id: made.secret.secretId })
    }
  })

  const getSchema = { operationId: 'getClient', summary: 'Get a client', params, response: clientResponse }
  admin.get<Params>('/clients/:client_id', { schema: getSchema }, async (request) =>
    clientDocument(await findClient(request.params.client_id, deps))
  )

  const updateSchema = {
    operationId: 'updateClient',
    summary: 'Replace the given members of a client, each completely; tokens lose what is removed',
    params,
    body: clientToUpdate,
    response: clientResponse
  }
  admin.patch<Params & { Body: GivenMembers }>('/clients/:client_id', { schema: updateSchema }, async (request) => {
    const command = { clientId: request.params.client_id, settings: settingsOfMembers(request.body) }
    return clientDocument((await updateClient(command, authorOf(request), deps)).client)
  })

  const deleteSchema = {
    operationId: 'deleteClient',
    summary: 'Delete a client with its secrets and consents, and end all its tokens',
    params,
    response: { 200: jsonResponse('The deleted client.', client), ...problemResponses }
  }
  admin.delete<Params>('/clients/:client_id', { schema: deleteSchema }, async (request) =>
    clientDocument(await deleteClient(request.params.client_id, authorOf(request), deps))
  )

  addStateRoutes(admin, deps)
}

/** Adds the routes that disable and enable a client. */
function addStateRoutes(admin: FastifyInstance, deps: ClientAdministration): void {
  const disableSchema = {
    operationId: 'disableClient',
    summary: 'Disable a client and end all its tokens permanently; safe to repeat',
    params,
    response: clientResponse
  }
  admin.post<Params>('/clients/:client_id/disable', { schema: disableSchema }, async (request) =>
    clientDocument(await disableClient(request.params.client_id, authorOf(request), deps))
  )

  const enableSchema = {
    operationId: 'enableClient',
    summary: 'Enable a disabled client; ended tokens stay ended',
    params,
    response: clientResponse
  }
  admin.post<Params>('/clients/:client_id/enable', { schema: enableSchema }, async (request) =>
    clientDocument(await enableClient(request.params.client_id, authorOf(request), deps))
  )
}
