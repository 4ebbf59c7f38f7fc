import type { FastifyPluginAsync } from 'fastify'
import type { Page } from '../../storage/postgres/page.js'
import {
  type GrantAdministration,
  grantDocument,
  listGrants,
  revokeGrant,
  revokeGrants
} from '../use-cases/administer-grants.js'
import { jsonAnswer, next, object, pageParameters, problemAnswers, recordId, text, time } from './answer-schemas.js'
import { authorOf } from './authenticate-operator.js'

export type GrantRouteOptions = GrantAdministration

const grant = object(
  {
    grant_id: recordId('Its id: `grant_id` of introspection.'),
    user_id: recordId('Whose it is.'),
    username: text('The name of that user.'),
    client_id: text('Whom it allows.'),
    client_name: text('The name of that client.'),
    scope: text('What it allows, separated by blanks.'),
    audience: text('Where: the resource identifier.'),
    created_at: time('UTC.'),
    last_used_at: time('To within some minutes; absent if it never was.'),
    refreshable_until: time('Until when new access tokens can be had; absent if they cannot.'),
    expires_at: time('When the last token ends, as it stands.')
  },
  ['last_used_at', 'refreshable_until']
)

const whose = { user_id: text('Those of a user.'), client_id: text('Those to a client.') }
const WHOSE = ['user_id', 'client_id'] as const

type Filter = { user_id?: string; client_id?: string }
const toFilter = ({ user_id, client_id }: Filter) => ({ userId: user_id, clientId: client_id })

const listSchema = {
  operationId: 'listGrants',
  summary: 'The grants that give access at this moment, in pages',
  querystring: object({ ...whose, ...pageParameters }, [...WHOSE, 'after', 'limit']),
  response: {
    200: jsonAnswer('By user and client.', object({ grants: { type: 'array', items: grant }, next }, ['next'])),
    ...problemAnswers
  }
} as const

const revokeOneSchema = {
  operationId: 'revokeGrant',
  summary: 'End one grant with its tokens; once more changes nothing',
  params: object({ grant_id: text('Its id.') }),
  response: { 200: jsonAnswer('It has ended.', object({ grant_id: recordId('Its id.') })), ...problemAnswers }
} as const

const revokeSchema = {
  operationId: 'revokeGrants',
  summary: 'End all grants of a user, to a client, or of a user to a client, and forget the consents',
  body: object(whose, WHOSE),
  response: {
    200: jsonAnswer(
      'They have ended.',
      object({ ...whose, ended_grants: { type: 'integer', description: 'Of a user: how many.' } }, [
        ...WHOSE,
        'ended_grants'
      ])
    ),
    ...problemAnswers
  }
} as const

/** `/admin/grants` */
export const grantRoutes: FastifyPluginAsync<GrantRouteOptions> = async (admin, deps) => {
  admin.get<{ Querystring: Page & Filter }>('/grants', { schema: listSchema }, async ({ query }) => {
    const { entries, next: place } = await listGrants(toFilter(query), query, deps)
    return { grants: entries.map(grantDocument), next: place }
  })

  admin.delete<{ Params: { grant_id: string } }>('/grants/:grant_id', { schema: revokeOneSchema }, async (request) => {
    await revokeGrant(request.params.grant_id, authorOf(request), deps)
    return request.params
  })

  admin.post<{ Body: Filter }>('/grants/revoke', { schema: revokeSchema }, async (request) => {
    const ended = await revokeGrants(toFilter(request.body), authorOf(request), deps)
    return { ...request.body, ended_grants: ended }
  })
}
