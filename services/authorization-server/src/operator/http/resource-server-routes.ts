import type { FastifyPluginAsync } from 'fastify'
import {
  createResourceServer,
  deleteResourceServer,
  findResourceServer,
  newCredentialDocument,
  type ResourceServerAdministration,
  resourceServerDocument,
  rotateResourceServerSecret
} from '../use-cases/administer-resource-servers.js'
import { jsonAnswer, object, problemAnswers, text, time } from './answer-schemas.js'
import { authorOf } from './authenticate-operator.js'

export type ResourceServerRouteOptions = ResourceServerAdministration

type Params = { Params: { client_id: string } }

const members = {
  client_id: text('Its id at introspection.'),
  name: text('For operators.'),
  audience: text('The resource identifier whose tokens it may ask about; several credentials may share one.')
}
const resourceServer = object(
  {
    ...members,
    created_at: time('UTC.'),
    last_used_at: time('To within some minutes; absent if it never was.')
  },
  ['last_used_at']
)
const credential = object({ ...members, client_secret: text('Shown this once only.') })
const params = object({ client_id: text('Its id.') })

/** `/admin/resource-servers` */
export const resourceServerRoutes: FastifyPluginAsync<ResourceServerRouteOptions> = async (admin, deps) => {
  const listSchema = {
    operationId: 'listResourceServers',
    summary: 'All credentials for introspection',
    response: {
      200: jsonAnswer('The oldest first.', object({ resource_servers: { type: 'array', items: resourceServer } })),
      ...problemAnswers
    }
  }
  admin.get('/resource-servers', { schema: listSchema }, async () => ({
    resource_servers: (await deps.resourceServers.listRegistrations()).map(resourceServerDocument)
  }))

  const createSchema = {
    operationId: 'createResourceServer',
    summary: 'Make a credential for introspection',
    body: object({ name: members.name, audience: members.audience }),
    response: { 201: jsonAnswer('The credential, its secret this once only.', credential), ...problemAnswers }
  }
  admin.post<{ Body: { name: string; audience: string } }>(
    '/resource-servers',
    { schema: createSchema },
    async (request, reply) => {
      const made = await createResourceServer(request.body, authorOf(request), deps)
      reply.code(201)
      return newCredentialDocument(made.credential)
    }
  )

  const getSchema = {
    operationId: 'getResourceServer',
    summary: 'One credential',
    params,
    response: { 200: jsonAnswer('The credential, without its secret.', resourceServer), ...problemAnswers }
  }
  admin.get<Params>('/resource-servers/:client_id', { schema: getSchema }, async (request) =>
    resourceServerDocument(await findResourceServer(request.params.client_id, deps))
  )

  const rotateSchema = {
    operationId: 'rotateResourceServerSecret',
    summary: 'Make a second credential for the same audience; the first one works until it is deleted',
    params,
    response: { 201: jsonAnswer('The new credential, its secret this once only.', credential), ...problemAnswers }
  }
  admin.post<Params>('/resource-servers/:client_id/rotate', { schema: rotateSchema }, async (request, reply) => {
    const made = await rotateResourceServerSecret(request.params.client_id, authorOf(request), deps)
    reply.code(201)
    return newCredentialDocument(made)
  })

  const deleteSchema = {
    operationId: 'deleteResourceServer',
    summary: 'Delete a credential; whoever has it can ask about no token any longer',
    params,
    response: { 200: jsonAnswer('The credential as it was.', resourceServer), ...problemAnswers }
  }
  admin.delete<Params>('/resource-servers/:client_id', { schema: deleteSchema }, async (request) =>
    resourceServerDocument(await deleteResourceServer(request.params.client_id, authorOf(request), deps))
  )
}
