import type { Counter, Metrics } from '@valetkey/service-kit'
import type { FastifyRequest } from 'fastify'
import type { AuditEvent, AuditEventKinds } from '../audit/audit-event.js'
import { TOKEN_REFUSALS } from '../audit/core-refusals.js'
import { formOf } from '../request-parts.js'

/** Is called for each request that gets an error response. */
export type OnRefusal = (request: FastifyRequest, refusal: { status: number; reason: string }) => void

const GRANT_TYPES = ['authorization_code', 'refresh_token']

/** Counts every logged refusal, also those without a row of their own in the audit table. */
export function countRefusedDecisions(metrics: Metrics, kinds: AuditEventKinds): (event: AuditEvent) => void {
  const counts = new Map<string, Map<string, number>>(
    Object.entries(kinds).flatMap(([event, kind]) =>
      typeof kind === 'string' ? [] : [[event, new Map(kind.refusal.map((reason) => [reason, 0]))] as const]
    )
  )
  metrics.countElsewhere(
    { name: 'valetkey_refusals_total', help: 'Refusals, as in the audit log, by event and exact cause.' },
    () =>
      [...counts].flatMap(([event, values]) =>
        [...values].map(([reason, value]) => ({ labels: { event, reason }, value }))
      )
  )
  return ({ event, reason = '' }) => {
    const ofEvent = counts.get(event)
    if (ofEvent === undefined) return
    const label = ofEvent.has(reason) ? reason : 'other'
    ofEvent.set(label, (ofEvent.get(label) ?? 0) + 1)
  }
}

/** Counts refused requests at `/token`, and introspection requests that were refused or found a store unavailable. */
export function countRefusals(metrics: Metrics, introspections: Counter): OnRefusal {
  const atToken = metrics.counter(
    { name: 'valetkey_token_requests_refused_total', help: 'Refused requests at /token, by exact cause.' },
    { grant_type: GRANT_TYPES, reason: TOKEN_REFUSALS }
  )

  return (request, { status, reason }) => {
    const route = request.routeOptions.url ?? ''
    if (/\/introspect(ions)?$/.test(route)) introspections.add(status >= 500 ? 'unavailable' : 'refused')
    // A 5xx is not a refusal; the HTTP metrics count it.
    else if (route.endsWith('/token') && status < 500) atToken.add(formOf(request).get('grant_type') ?? '', reason)
  }
}
