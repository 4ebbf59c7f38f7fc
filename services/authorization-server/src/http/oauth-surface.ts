import formbody from '@fastify/formbody'
import { parseParameters } from '@valetkey/oauth-protocol'
import type { FastifyInstance } from 'fastify'
import type { ClientRefusals } from '../features/refused-requests/client-refusals.js'
import { noteRefusedRequests } from '../features/refused-requests/note-refused-request.js'
import type { AuditTrail } from '../platform/audit/audit-trail.js'
import type { ServerMetrics } from '../platform/metrics/server-metrics.js'
import { oauthErrorHandler } from './send-oauth-error.js'

export type OAuthSurfaceDeps = {
  audit: AuditTrail
  watched: Pick<ServerMetrics, 'refused'>
  refusals: ClientRefusals
}

/** Form in, JSON out, errors as in RFC 6749 §5.2. A JSON body is an `invalid_request`. */
export function oauthSurface(
  oauth: FastifyInstance,
  issuer: string,
  { audit, watched, refusals }: OAuthSurfaceDeps
): void {
  const note = noteRefusedRequests(refusals)
  oauth.removeAllContentTypeParsers()
  oauth.register(formbody, { parser: parseParameters })
  oauth.addHook('onRoute', (route) => {
    route.config = { ...route.config, sendsJson: true }
  })
  oauth.decorateRequest('authenticatedClientId', undefined)
  oauth.decorateRequest('authenticatedSecretId', undefined)
  oauth.setErrorHandler(
    oauthErrorHandler({
      issuer,
      audit,
      onRefusal(request, refusal) {
        watched.refused(request, refusal)
        note(request, refusal)
      }
    })
  )
}
