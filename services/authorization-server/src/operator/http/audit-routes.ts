import type { FastifyPluginAsync } from 'fastify'
import type { Page } from '../../storage/postgres/page.js'
import { type AuditReading, auditDocument, readAudit, toAuditFilter } from '../use-cases/read-audit.js'
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

const DETAILS =
  'Further members by event. `actor`: the operator who made a change. `count`: the number of refusals in one minute that this event represents; absent for 1.'

const entry = object(
  {
    event_id: text('A whole number.'),
    occurred_at: time('UTC.'),
    event: text('The name of the event.'),
    request_id: text('The X-Request-Id of the response; with details.count, of the first response.'),
    trace_id: text('The W3C trace id of the request, if a trusted proxy sent one.'),
    client_id: text('The client that the event concerns.'),
    user_id: recordId('The user that the event concerns.'),
    address: text('The address of the request; with details.count, an IPv4 address or an IPv6 /64.'),
    details: { type: 'object', additionalProperties: true, description: DETAILS }
  },
  ['request_id', 'trace_id', 'client_id', 'user_id', 'address']
)

const filter = {
  user_id: text('Events of this user, even if deleted.'),
  client_id: text('Events of this client, even if deleted.'),
  event: text('Events with this name.'),
  request_id: text('Events of this request.'),
  trace_id: text('Events of the requests of this W3C trace.'),
  secret_id: text('Events of requests with this client secret, live or ended.'),
  changes: { type: 'boolean', description: 'Only changes by operators and by owners of apps.' },
  subject: text('Changes of the client, user, scope, API or operator key with this id or name.'),
  since: text('Events since then: 2026-11-21T08:00:00Z, or 15m, 2h, 7d ago.')
} as const
const FILTERS = [
  'user_id',
  'client_id',
  'event',
  'request_id',
  'trace_id',
  'secret_id',
  'changes',
  'subject',
  'since'
] as const

const schema = {
  operationId: 'listAuditEvents',
  summary: 'Security decisions and changes by operators, in pages',
  querystring: object({ ...filter, ...pageParameters }, [...FILTERS, 'after', 'limit']),
  response: {
    200: jsonResponse('Newest first.', object({ events: { type: 'array', items: entry }, next }, ['next'])),
    ...problemResponses
  }
} as const

type Query = Page & Partial<Record<Exclude<(typeof FILTERS)[number], 'changes'>, string>> & { changes?: boolean }

/** `GET /admin/audit` */
export const auditRoutes: FastifyPluginAsync<AuditReading> = async (admin, deps) => {
  admin.get<{ Querystring: Query }>('/audit', { schema }, async ({ query }) => {
    const { user_id: userId, client_id: clientId, event, secret_id: secretId, since } = query
    const { request_id: requestId, trace_id: traceId, changes: isChange, subject } = query
    const filter = toAuditFilter({ userId, clientId, event, requestId, traceId, secretId, isChange, subject, since })
    const { entries, next: place } = await readAudit(filter, query, deps)
    return { events: entries.map(auditDocument), next: place }
  })
}
