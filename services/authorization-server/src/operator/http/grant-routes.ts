import type { FastifyPluginAsync } from 'fastify'
import type { Page } from '../../storage/postgres/page.js'
import {
  type GrantListing,
  grantDocument,
  listGrants,
  revokeGrant,
  revokeGrants
} from '../use-cases/administer-grants.js'
import { authorOf } from './authenticate-operator.js'
import {
  jsonResponse,
  next,
  object,
  pageParameters,
  problemResponses,
  recordId,
  text,
  time
} from './response-schemas.js'

const grant = object(
  {
    grant_id: recordId('The `grant_id` of introspection.'),
    user_id: recordId('The user who consented.'),
    username: text('The name of the user.'),
    client_id: text('The client that has access.'),
    client_name: text('The name of the client.'),
    scope: text('Granted scopes, separated by spaces.'),
    audience: text('The resource identifier.'),
    created_at: time('UTC.'),
    last_used_at: time('Accurate to an hour; absent if never used.'),
    refreshable_until: time('The end of refreshing; absent without refresh tokens.'),
    expires_at: time('The expiry of the last token issued so far.')
  },
  ['last_used_at', 'refreshable_until']
)

const whose = { user_id: text('Grants of this user.'), client_id: text('Grants to this client.') }
const resource = text('Grants for this API, by the name or audience of a resource server.')
const WHOSE = ['user_id', 'client_id'] as const

type Filter = { user_id?: string; client_id?: string }
const toFilter = ({ user_id, client_id }: Filter) => ({ userId: user_id, clientId: client_id })

const listSchema = {
  operationId: 'listGrants',
  summary: 'List active grants, in pages',
  querystring: object({ ...whose, resource, ...pageParameters }, [...WHOSE, 'resource', 'after', 'limit']),
  response: {
    200: jsonResponse(
      'Ordered by user and client.',
      object({ grants: { type: 'array', items: grant }, next }, ['next'])
    ),
    ...problemResponses
  }
} as const

const revokeOneSchema = {
  operationId: 'revokeGrant',
  summary: 'End a grant with its tokens; safe to repeat',
  params: object({ grant_id: text('The grant id.') }),
  response: {
    200: jsonResponse('The ended grant.', object({ grant_id: recordId('The grant id.') })),
    ...problemResponses
  }
} as const

const revokeSchema = {
  operationId: 'revokeGrants',
  summary: 'End all grants of a user, to a client, or both, and delete the remembered consents',
  body: object(whose, WHOSE),
  response: {
    200: jsonResponse(
      'The grants have ended.',
      object(
        {
          ...whose,
          ended_grants: { type: 'integer', description: 'The number of ended grants, if a user was given.' }
        },
        [...WHOSE, 'ended_grants']
      )
    ),
    ...problemResponses
  }
} as const

/** `/admin/grants` */
export const grantRoutes: FastifyPluginAsync<GrantListing> = async (admin, deps) => {
  admin.get<{ Querystring: Page & Filter & { resource?: string } }>(
    '/grants',
    { schema: listSchema },
    async ({ query }) => {
      const question = { ...toFilter(query), resource: query.resource }
      const { entries, next: place } = await listGrants(question, query, deps)
      return { grants: entries.map(grantDocument), next: place }
    }
  )

  admin.delete<{ Params: { grant_id: string } }>('/grants/:grant_id', { schema: revokeOneSchema }, async (request) => {
    await revokeGrant(request.params.grant_id, authorOf(request), deps)
    return request.params
  })

  admin.post<{ Body: Filter }>('/grants/revoke', { schema: revokeSchema }, async (request) => {
    const ended = await revokeGrants(toFilter(request.body), authorOf(request), deps)
    return { ...request.body, ended_grants: ended }
  })
}
