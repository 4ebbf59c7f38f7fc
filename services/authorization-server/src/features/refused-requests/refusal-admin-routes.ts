import type { FastifyPluginAsync } from 'fastify'
import { jsonResponse, object, problemResponses, text, time } from '../../operator/http/response-schemas.js'
import { MOST_REFUSALS } from './client-refusal-store.js'
import { type RefusalReading, readRefusals } from './read-refusals.js'

const refusal = object(
  {
    occurred_at: time('UTC.'),
    endpoint: {
      type: 'string',
      enum: ['authorize', 'par', 'token', 'revoke'],
      description: 'The endpoint of the request.'
    },
    error: text('The OAuth error code.'),
    reason: text('The exact reason.'),
    explanation: text('What the reason means.'),
    remedy: text('How the developer of the app fixes the request.'),
    error_description: text('As in the response; absent for an error page.'),
    redirect_uri: text('The redirect URI that was sent, without values of its query; of a wrong redirect URI only.'),
    request_id: text('The X-Request-Id of the response.'),
    authenticated: {
      type: 'boolean',
      description: 'Whether the client was authenticated, by its secret or a key. Otherwise anyone can have sent it.'
    }
  },
  ['error_description', 'redirect_uri']
)

const schema = {
  operationId: 'listClientRefusals',
  summary: 'List the last refused requests of a client, kept for 7 days',
  params: object({ client_id: text('The client id; a URL percent-encoded.') }),
  querystring: object(
    {
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: MOST_REFUSALS,
        default: MOST_REFUSALS,
        description: 'Maximum number of entries.'
      }
    },
    ['limit']
  ),
  response: {
    200: jsonResponse('Newest first.', object({ refusals: { type: 'array', items: refusal } })),
    ...problemResponses
  }
} as const

/** `/admin/clients/{client_id}/refusals` */
export const clientRefusalRoutes: FastifyPluginAsync<RefusalReading> = async (admin, deps) => {
  admin.get<{ Params: { client_id: string }; Querystring: { limit: number } }>(
    '/clients/:client_id/refusals',
    { schema },
    async ({ params, query }) => ({ refusals: await readRefusals(params.client_id, query.limit, deps) })
  )
}
