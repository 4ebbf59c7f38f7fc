import type { FastifyPluginAsync } from 'fastify'
import {
  createScope,
  deleteScope,
  findScope,
  type ScopeAdministration,
  type ScopeSettings,
  type ScopeTexts,
  scopeDocument,
  updateScope
} from '../use-cases/administer-scopes.js'
import { findScopeUse, scopeUseDocument } from '../use-cases/scope-use.js'
import { authorOf } from './authenticate-operator.js'
import { jsonResponse, object, problemResponses, text } from './response-schemas.js'

type Params = { Params: { name: string } }

const texts = {
  title: text('The title on the consent page.'),
  description: text('The description on the consent page.'),
  translations: {
    type: 'object',
    description: 'Title and description in other languages, by language tag.',
    additionalProperties: object({ title: { type: 'string' }, description: { type: 'string' } }, [
      'title',
      'description'
    ])
  }
} as const

const flags = {
  default: { type: 'boolean', description: 'Requested by clients that send no scope.' },
  discoverable: { type: 'boolean', description: 'Available to clients that no operator registered.' },
  self_service: { type: 'boolean', description: 'Users may choose it for apps that they register.' },
  selects: { type: 'boolean', description: 'Gives access only to what the user chooses on a page of the API.' }
} as const
/** Null or empty selects the default API. */
const resourceToSet = {
  description: 'The API of the scope, by name or audience of a resource server; null for the default API.',
  anyOf: [{ type: 'string' }, { type: 'null' }]
} as const

const FLAGS = ['default', 'discoverable', 'self_service', 'selects'] as const

type SettingsBody = {
  resource?: string | null
  default?: boolean
  discoverable?: boolean
  self_service?: boolean
  selects?: boolean
}

const name = text('The scope as clients request it.')
const scopeMembers = {
  name,
  ...texts,
  resource: text('The audience of the API; absent for the default API.'),
  ...flags,
  built_in: { type: 'boolean', description: 'A built-in scope cannot be deleted.' }
} as const
const changeable = { ...texts, resource: resourceToSet, ...flags } as const
const scope = object(scopeMembers, ['resource'])
const params = object({ name })
const scopeResponse = { 200: jsonResponse('The scope.', scope), ...problemResponses }

const listSchema = {
  operationId: 'listScopes',
  summary: 'List the scope catalogue',
  response: {
    200: jsonResponse('Built-in scopes first, then by name.', object({ scopes: { type: 'array', items: scope } })),
    ...problemResponses
  }
}

const createSchema = {
  operationId: 'createScope',
  summary: 'Add a scope to the catalogue',
  body: object({ name, ...changeable }, ['description', 'translations', 'resource', ...FLAGS]),
  response: { 201: jsonResponse('The scope.', scope), ...problemResponses }
}

const deleteSchema = {
  operationId: 'deleteScope',
  summary: 'Delete a scope that is not built in; tokens lose it at once',
  params,
  querystring: object(
    {
      from_clients: {
        type: 'boolean',
        default: false,
        description: 'Also remove it from clients; otherwise a scope of a client is not deleted.'
      }
    },
    ['from_clients']
  ),
  response: {
    200: jsonResponse(
      'The deleted scope, and the clients that it was removed from.',
      object(
        {
          ...scopeMembers,
          taken_from: { type: 'array', items: { type: 'string' }, description: 'Client ids.' }
        },
        ['resource']
      )
    ),
    ...problemResponses
  }
}

const useSchema = {
  operationId: 'getScopeUse',
  summary: 'What deleting the scope would affect',
  params,
  response: {
    200: jsonResponse(
      'The scope, and what would lose it.',
      object(
        {
          ...scopeMembers,
          client_ids: { type: 'array', items: { type: 'string' }, description: 'Clients that are registered for it.' },
          only_scope_of: { type: 'array', items: { type: 'string' }, description: 'Those with no other scope.' },
          live_grants: { type: 'integer', description: 'Live grants that have it.' },
          users: { type: 'integer', description: 'Users of these grants.' },
          all_grants_read: {
            type: 'boolean',
            description: 'False if there are more than 100,000 grants: the numbers are the least then.'
          }
        },
        ['resource']
      )
    ),
    ...problemResponses
  }
}

/** `/admin/scopes` */
export const scopeRoutes: FastifyPluginAsync<ScopeAdministration> = async (admin, deps) => {
  admin.get('/scopes', { schema: listSchema }, async () => ({ scopes: (await deps.scopes.list()).map(scopeDocument) }))

  admin.post<{ Body: { name: string; title: string } & Partial<ScopeTexts> & SettingsBody }>(
    '/scopes',
    { schema: createSchema },
    async (request, reply) => {
      const { name, title, description = '', translations = {} } = request.body
      const command = { name, title, description, translations, ...settingsOf(request.body) }
      const created = await createScope(command, authorOf(request), deps)
      reply.code(201)
      return scopeDocument(created)
    }
  )

  const getSchema = { operationId: 'getScope', summary: 'Get a scope', params, response: scopeResponse }
  admin.get<Params>('/scopes/:name', { schema: getSchema }, async (request) =>
    scopeDocument(await findScope(request.params.name, deps))
  )

  admin.get<Params>('/scopes/:name/use', { schema: useSchema }, async (request) =>
    scopeUseDocument(await findScopeUse(request.params.name, deps))
  )

  const updateSchema = {
    operationId: 'updateScope',
    summary: 'Replace the given members of a scope, each completely',
    params,
    body: {
      ...object(changeable, ['title', 'description', 'translations', 'resource', ...FLAGS]),
      minProperties: 1
    },
    response: scopeResponse
  }
  admin.patch<Params & { Body: Partial<ScopeTexts> & SettingsBody }>(
    '/scopes/:name',
    { schema: updateSchema },
    async (request) => {
      const { body } = request
      const command = {
        name: request.params.name,
        settings: settingsOf(body),
        texts: ({ title, description, translations }: ScopeTexts) => ({
          title: body.title ?? title,
          description: body.description ?? description,
          translations: body.translations ?? translations
        })
      }
      return scopeDocument(await updateScope(command, authorOf(request), deps))
    }
  )

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

function settingsOf(body: SettingsBody): ScopeSettings {
  const { resource, default: isDefault, discoverable: isDiscoverable, self_service: isSelfService, selects } = body
  return { resource, isDefault, isDiscoverable, isSelfService, selects }
}
