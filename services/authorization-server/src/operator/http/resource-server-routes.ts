import type { FastifyPluginAsync } from 'fastify'
import {
  createResourceServer,
  DPOP_OF_APIS,
  deleteResourceServer,
  findResourceServer,
  newCredentialDocument,
  type ResourceServerAdministration,
  resourceServerDocument,
  rotateResourceServerSecret,
  updateApi
} from '../use-cases/administer-resource-servers.js'
import { authorOf } from './authenticate-operator.js'
import { jsonResponse, object, problemResponses, text, time } from './response-schemas.js'

type Params = { Params: { client_id: string } }
type ApiBody = { title?: string; title_in?: Record<string, string>; dpop?: string }

const members = {
  client_id: text('The client id for introspection.'),
  name: text('A name for operators.'),
  audience: text('The resource identifier whose tokens it may introspect; several credentials may share one.'),
  title: text('The name of the API on pages for users; absent: they show the host of the audience.'),
  title_in: {
    type: 'object',
    description: 'The title in other languages, by language tag.',
    additionalProperties: { type: 'string' }
  },
  dpop: {
    type: 'string',
    enum: DPOP_OF_APIS,
    description:
      'Whether access tokens are bound to keys of clients (RFC 9449); absent: off. The API must check proofs.'
  }
}
const resourceServer = object(
  {
    ...members,
    created_at: time('UTC.'),
    last_used_at: time('Accurate to a few minutes; absent if never used.')
  },
  ['last_used_at', 'title', 'title_in', 'dpop']
)
const credential = object({ ...members, client_secret: text('Shown only once.') }, ['title', 'title_in', 'dpop'])
const params = object({ client_id: text('The client id.') })

const listSchema = {
  operationId: 'listResourceServers',
  summary: 'List credentials for introspection',
  response: {
    200: jsonResponse('Oldest first.', object({ resource_servers: { type: 'array', items: resourceServer } })),
    ...problemResponses
  }
}

const createSchema = {
  operationId: 'createResourceServer',
  summary: 'Create a credential for introspection',
  body: object(
    {
      name: members.name,
      audience: members.audience,
      title: members.title,
      title_in: members.title_in,
      dpop: members.dpop
    },
    ['title', 'title_in', 'dpop']
  ),
  response: {
    201: jsonResponse('The credential, with its secret, which is shown only once.', credential),
    ...problemResponses
  }
}

const rotateSchema = {
  operationId: 'rotateResourceServerSecret',
  summary: 'Create a second credential for the same audience; the first stays valid until it is deleted',
  params,
  response: {
    201: jsonResponse('The new credential, with its secret, which is shown only once.', credential),
    ...problemResponses
  }
}

const updateSchema = {
  operationId: 'updateResourceServer',
  summary: 'Change an API, for all of its credentials',
  params,
  body: object(
    {
      title: text('The name of the API on pages for users; empty for none, in no language.'),
      title_in: { ...members.title_in, description: 'All titles in other languages; {} for none.' },
      dpop: members.dpop
    },
    ['title', 'title_in', 'dpop']
  ),
  response: { 200: jsonResponse('The credential, without its secret.', resourceServer), ...problemResponses }
}

/** `/admin/resource-servers` */
export const resourceServerRoutes: FastifyPluginAsync<ResourceServerAdministration> = async (admin, deps) => {
  admin.get('/resource-servers', { schema: listSchema }, async () => ({
    resource_servers: (await deps.resourceServers.listRegistrations()).map(resourceServerDocument)
  }))

  admin.post<{ Body: { name: string; audience: string } & ApiBody }>(
    '/resource-servers',
    { schema: createSchema },
    async (request, reply) => {
      const { title_in: titleIn, ...given } = request.body
      const made = await createResourceServer({ ...given, titleIn }, authorOf(request), deps)
      reply.code(201)
      return newCredentialDocument(made.credential)
    }
  )

  const getSchema = {
    operationId: 'getResourceServer',
    summary: 'Get a credential',
    params,
    response: { 200: jsonResponse('The credential, without its secret.', resourceServer), ...problemResponses }
  }
  admin.get<Params>('/resource-servers/:client_id', { schema: getSchema }, async (request) =>
    resourceServerDocument(await findResourceServer(request.params.client_id, deps))
  )

  admin.patch<Params & { Body: ApiBody }>('/resource-servers/:client_id', { schema: updateSchema }, async (request) => {
    const { title_in: titleIn, ...given } = request.body
    const change = { ...given, titleIn: titleIn && (() => titleIn) }
    const command = { clientId: request.params.client_id, ...change }
    return resourceServerDocument(await updateApi(command, authorOf(request), deps))
  })

  admin.post<Params>('/resource-servers/:client_id/rotate', { schema: rotateSchema }, async (request, reply) => {
    const made = await rotateResourceServerSecret(request.params.client_id, authorOf(request), deps)
    reply.code(201)
    return newCredentialDocument(made)
  })

  const deleteSchema = {
    operationId: 'deleteResourceServer',
    summary: 'Delete a credential; after the last one of an API, users must allow its scopes again',
    params,
    response: { 200: jsonResponse('The deleted credential.', resourceServer), ...problemResponses }
  }
  admin.delete<Params>('/resource-servers/:client_id', { schema: deleteSchema }, async (request) =>
    resourceServerDocument(await deleteResourceServer(request.params.client_id, authorOf(request), deps))
  )
}
