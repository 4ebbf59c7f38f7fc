import type { FastifyPluginAsync } from 'fastify'
import {
  createScope,
  deleteScope,
  findScope,
  type ScopeAdministration,
  type ScopeTexts,
  scopeDocument,
  updateScope
} from '../use-cases/administer-scopes.js'
import { jsonAnswer, object, problemAnswers, text } from './answer-schemas.js'
import { authorOf } from './authenticate-operator.js'

export type ScopeRouteOptions = ScopeAdministration

type Params = { Params: { name: string } }

const texts = {
  title: text('What the consent page says it allows.'),
  description: text('One more sentence for the consent page.'),
  translations: {
    type: 'object',
    description: 'Both in other languages, by language tag.',
    additionalProperties: object({ title: { type: 'string' }, description: { type: 'string' } }, [
      'title',
      'description'
    ])
  }
} as const

const name = text('The scope as it stands in requests.')
const scopeMembers = { name, ...texts, built_in: { type: 'boolean', description: 'A built-in one stays.' } } as const
const scope = object(scopeMembers)
const params = object({ name })
const scopeAnswer = { 200: jsonAnswer('The scope as it is now.', scope), ...problemAnswers }

/** `/admin/scopes` */
export const scopeRoutes: FastifyPluginAsync<ScopeRouteOptions> = async (admin, deps) => {
  const listSchema = {
    operationId: 'listScopes',
    summary: 'The catalogue of scopes',
    response: {
      200: jsonAnswer('The built-in ones first, by name.', object({ scopes: { type: 'array', items: scope } })),
      ...problemAnswers
    }
  }
  admin.get('/scopes', { schema: listSchema }, async () => ({ scopes: (await deps.scopes.list()).map(scopeDocument) }))

  const createSchema = {
    operationId: 'createScope',
    summary: 'Add a scope to the catalogue',
    body: object({ name, ...texts }, ['description', 'translations']),
    response: { 201: jsonAnswer('The scope.', scope), ...problemAnswers }
  }
  admin.post<{ Body: { name: string; title: string } & Partial<ScopeTexts> }>(
    '/scopes',
    { schema: createSchema },
    async (request, reply) => {
      const command = { description: '', translations: {}, ...request.body }
      const created = await createScope(command, authorOf(request), deps)
      reply.code(201)
      return scopeDocument(created)
    }
  )

  const getSchema = { operationId: 'getScope', summary: 'One scope', params, response: scopeAnswer }
  admin.get<Params>('/scopes/:name', { schema: getSchema }, async (request) =>
    scopeDocument(await findScope(request.params.name, deps))
  )

  const updateSchema = {
    operationId: 'updateScope',
    summary: 'Replace the members that are given, each as a whole',
    params,
    body: { ...object(texts, ['title', 'description', 'translations']), minProperties: 1 },
    response: scopeAnswer
  }
  admin.patch<Params & { Body: Partial<ScopeTexts> }>('/scopes/:name', { schema: updateSchema }, async (request) => {
    const command = {
      name: request.params.name,
      texts: ({ title, description, translations }: ScopeTexts) => ({
        title,
        description,
        translations,
        ...request.body
      })
    }
    return scopeDocument(await updateScope(command, authorOf(request), deps))
  })

  const deleteSchema = {
    operationId: 'deleteScope',
    summary: 'Delete a scope that is not built in; tokens that hold it keep it until they end',
    params,
    querystring: object(
      {
        from_clients: { type: 'boolean', default: false, description: 'Take it from clients, too; else it is refused.' }
      },
      ['from_clients']
    ),
    response: {
      200: jsonAnswer(
        'The scope as it was, and the clients that it was taken from.',
        object({
          ...scopeMembers,
          taken_from: { type: 'array', items: { type: 'string' }, description: 'Client ids.' }
        })
      ),
      ...problemAnswers
    }
  }
  admin.delete<Params & { Querystring: { from_clients: boolean } }>(
    '/scopes/:name',
    { schema: deleteSchema },
    async (request) => {
      const command = { name: request.params.name, fromClients: request.query.from_clients }
      const deleted = await deleteScope(command, authorOf(request), deps)
      return { ...scopeDocument(deleted.scope), taken_from: deleted.clientIds }
    }
  )
}
