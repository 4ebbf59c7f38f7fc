import formbody from '@fastify/formbody'
import { parseParameters } from '@valetkey/oauth-protocol'
import type { FastifyInstance } from 'fastify'
import type { AuditTrail } from '../platform/audit/audit-trail.js'
import type { ServerMetrics } from '../platform/metrics/server-metrics.js'
import type { RefusalObserver } from './refusal-observer.js'
import { oauthErrorHandler } from './send-oauth-error.js'

/** Form in, JSON out, errors as in RFC 6749 §5.2. A JSON body is an `invalid_request`. */
export function oauthSurface(
  oauth: FastifyInstance,
  issuer: string,
  {
    audit,
    watched,
    refusals
  }: {
    audit: AuditTrail
    watched: Pick<ServerMetrics, 'refused'>
    refusals: Pick<RefusalObserver, 'requestRefused'>
  }
): void {
  oauth.removeAllContentTypeParsers()
  oauth.register(formbody, { parser: parseParameters })
  oauth.addHook('onRoute', (route) => {
    route.config = { ...route.config, sendsJson: true }
  })
  oauth.decorateRequest('authenticatedClientId', undefined)
  oauth.decorateRequest('authenticatedSecretId', undefined)
  oauth.decorateRequest('isAuthenticatedByKey', false)
  oauth.setErrorHandler(
    oauthErrorHandler({
      issuer,
      audit,
      onRefusal(request, refusal) {
        watched.refused(request, refusal)
        refusals.requestRefused(request, refusal)
      }
    })
  )
}
