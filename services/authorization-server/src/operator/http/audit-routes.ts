import type { FastifyPluginAsync } from 'fastify'
import type { Page } from '../../storage/postgres/page.js'
import { type AuditReading, auditDocument, readAudit, toAuditFilter } from '../use-cases/read-audit.js'
import { jsonAnswer, next, object, pageParameters, problemAnswers, recordId, text, time } from './answer-schemas.js'

export type AuditRouteOptions = AuditReading

const DETAILS =
  'What else there is to it; `actor` made it. `count`: for how many refusals of one minute this event stands; absent: one.'

const entry = object(
  {
    event_id: text('Its id, a whole number.'),
    occurred_at: time('UTC.'),
    event: text('Its name.'),
    request_id: text('The X-Request-Id of the answer that it belongs to; with details.count, of the first of them.'),
    client_id: text('Which client it is about.'),
    user_id: recordId('Which user it is about.'),
    address: text('Where the request came from; with details.count, an IPv4 address or an IPv6 /64.'),
    details: { type: 'object', additionalProperties: true, description: DETAILS }
  },
  ['request_id', 'client_id', 'user_id', 'address']
)

const filter = {
  user_id: text('Events of a user, who may be deleted by now.'),
  client_id: text('Events of a client, which may be deleted by now.'),
  event: text('Events of one name.'),
  request_id: text('Events of one request.'),
  secret_id: text('Events of those who came with one secret of a client, live or ended.'),
  since: text('Not before: 2026-11-21T08:00:00Z, or 15m, 2h, 7d ago.')
} as const
const FILTERS = ['user_id', 'client_id', 'event', 'request_id', 'secret_id', 'since'] as const

const schema = {
  operationId: 'listAuditEvents',
  summary: 'Security decisions and changes by operators, in pages',
  querystring: object({ ...filter, ...pageParameters }, [...FILTERS, 'after', 'limit']),
  response: {
    200: jsonAnswer('The newest first.', object({ events: { type: 'array', items: entry }, next }, ['next'])),
    ...problemAnswers
  }
} as const

type Query = Page & Partial<Record<(typeof FILTERS)[number], string>>

/** `GET /admin/audit` */
export const auditRoutes: FastifyPluginAsync<AuditRouteOptions> = async (admin, deps) => {
  admin.get<{ Querystring: Query }>('/audit', { schema }, async ({ query }) => {
    const { user_id, client_id, event, request_id, secret_id, since } = query
    const asked = { userId: user_id, clientId: client_id, event, requestId: request_id, secretId: secret_id, since }
    const { entries, next: place } = await readAudit(toAuditFilter(asked), query, deps)
    return { events: entries.map(auditDocument), next: place }
  })
}
