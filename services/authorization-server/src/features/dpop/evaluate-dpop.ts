import { type Finding, ok, warning } from '@valetkey/service-kit'
import type { Config } from '../../config.js'
import type { Api } from '../../storage/postgres/resource-servers.js'

/** Seconds. No bound access token should live longer, unless proofs need nonces (RFC 9449 §11.2). */
const LONGEST_LIFETIME = 3_600

/** Whether the setting, the APIs and the clients agree. @param boundClients ids of clients that must send proofs */
export function evaluateDpop(
  { dpop, dpopNonces, accessTokenTtl }: Pick<Config, 'dpop' | 'dpopNonces' | 'accessTokenTtl'>,
  apis: readonly Api[],
  boundClients: readonly string[]
): Finding {
  const check = 'DPOP'
  const marked = apis.filter((api) => api.dpop !== undefined).map(({ audience }) => audience)
  if (dpop === 'off') {
    const ignored = [...marked, ...boundClients]
    if (ignored.length === 0) return ok(check, 'is off: all tokens are bearer tokens')
    return warning(check, {
      what: `is off, but tokens of these APIs and clients are to be bound: ${ignored.join(', ')}`,
      why: 'They get bearer tokens, which work for everyone who has them.',
      fix: 'set DPOP to allowed, or update them with --dpop off and --no-dpop-bound'
    })
  }
  if (marked.length === 0) {
    return warning(check, {
      what: `is ${dpop}, but no API is marked`,
      why: 'All access tokens are bearer tokens; only refresh tokens of public clients are bound.',
      fix: 'valetkey resource-servers update CLIENT_ID --dpop allowed, if the API checks proofs'
    })
  }
  const livesLong = accessTokenTtl > LONGEST_LIFETIME
  if (livesLong && dpopNonces === 'off') {
    return warning(check, {
      what: `is ${dpop}, and access tokens live ${accessTokenTtl} seconds (ACCESS_TOKEN_TTL)`,
      why: 'Who had the key for a moment can make proofs in advance, for the whole life of a token (RFC 9449 §11.2).',
      fix: `set ACCESS_TOKEN_TTL to ${LONGEST_LIFETIME} or less, or require nonces here (DPOP_NONCES) and at the APIs`
    })
  }
  const nonces = dpopNonces === 'off' ? '' : ' with nonces'
  // The nonces of this server protect refreshes; only those of an API protect its requests.
  const advice = livesLong ? `. They live ${accessTokenTtl} seconds, so these APIs must require nonces, too` : ''
  return ok(check, `is ${dpop}${nonces}; access tokens are bound for ${marked.join(', ')}${advice}`)
}
