import { OAuthError } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { AuditTrail } from '../../platform/audit/audit-trail.js'
import type { Limiter } from '../../platform/rate-limits/limiter.js'
import { reportedTokenLimit } from '../../platform/rate-limits/rules.js'
import { formOf } from '../../platform/request-parts.js'
import type { GrantStore } from '../../storage/postgres/grants.js'
import type { ClientRefusalStore } from '../refused-requests/client-refusal-store.js'
import { endGrantWith, endReportedTokens } from './end-reported-tokens.js'
import type { TokenGrant, TokenGrantStore } from './token-grant-store.js'

export const REPORT_PATH = '/tokens/leaked'

const MOST_TOKENS = 100

type Deps = {
  tokenGrants: TokenGrantStore
  grants: Pick<GrantStore, 'end'>
  /** What the developer of the app sees. */
  refusals: Pick<ClientRefusalStore, 'append'>
  /** Counts reports with a value that is no live token. */
  limiter: Pick<Limiter, 'count'>
  audit: AuditTrail
}

/**
 * `POST /tokens/leaked`: ends the grants of tokens that were found where they should not be. The parameter `tokens` has 1 to 100 access or
 * refresh tokens, separated by spaces. No authentication: who has a token may end it.
 * - 202 with `{}`, whether or not a value is a token: the response tells nothing about values.
 * - 400 `invalid_request`: no list, or a longer one; nothing was ended. 429: too many reports with values that are no live tokens.
 */
export const reportRoutes: FastifyPluginAsync<Deps> = async (oauth, deps) => {
  const schema = { response: { 202: { type: 'object', properties: {} } } }
  oauth.post(REPORT_PATH, { schema }, async (request, reply) => {
    const tokens = readTokens(request)
    const { ended, unknown } = await endReportedTokens(tokens, deps.tokenGrants, endGrantWith(deps.grants))
    for (const { grantId, userId, clientId } of ended) {
      deps.audit.record(request, { event: 'token_reported', clientId, userId, grantId })
    }
    if (ended.length > 0) await tellDevelopers(ended, request, deps)
    if (unknown > 0) await deps.limiter.count(reportedTokenLimit(request.ip))
    return reply.code(202).header('cache-control', 'no-store').send({})
  })
}

function readTokens(request: FastifyRequest): readonly string[] {
  const tokens = formOf(request).get('tokens')?.split(' ').filter(Boolean) ?? []
  if (tokens.length === 0 || tokens.length > MOST_TOKENS) {
    const description = `The parameter tokens must be sent once, with 1 to ${MOST_TOKENS} tokens, separated by spaces.`
    throw new OAuthError('invalid_request', description)
  }
  return tokens
}

/** The tokens have ended, so a failure here must not look as if they had not. */
async function tellDevelopers(
  ended: readonly TokenGrant[],
  request: FastifyRequest,
  { refusals }: Deps
): Promise<void> {
  const rows = [...new Set(ended.map(({ clientId }) => clientId))].map((clientId) => ({
    clientId,
    endpoint: 'leaked' as const,
    error: 'invalid_token',
    reason: 'token_reported',
    description: undefined,
    requestId: request.id,
    redirectUri: undefined,
    authenticated: false,
    recordedAt: performance.now()
  }))
  await refusals.append(rows).catch((err: unknown) => {
    request.log.warn({ event: 'report_not_shown', err }, 'the developers of the apps do not see the report')
  })
}
