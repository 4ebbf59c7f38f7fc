import { OAuthError } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { formOf } from '../../../platform/request-parts.js'
import type { ForeignSignInDeps } from '../foreign-sign-in-deps.js'
import { type Provider, pathOfProvider } from './provider.js'
import type { ProviderLogoutStore } from './provider-logout-store.js'

/** A token that is expired is refused anyway; the clocks may differ by this. */
const TOLERANCE_SECONDS = 60

/**
 * `POST /login/with/<id>/logout`: a provider reports that its user signed out (OpenID Connect Back-Channel Logout 1.0). The
 * provider calls it and no browser, so it needs no CSRF token. Grants go on (Back-Channel Logout §2.7: offline access).
 */
export const providerLogoutRoutes: FastifyPluginAsync<
  Parameters<typeof receiveLogout>[2] & { providers: readonly Provider[] }
> = async (oauth, options) => {
  for (const provider of options.providers) {
    oauth.post(`${pathOfProvider(provider.settings)}/logout`, async (request, reply) => {
      await receiveLogout(provider, request, options)
      return reply.code(200).header('cache-control', 'no-store').send()
    })
  }
}

/** @throws {OAuthError} if the logout token is refused */
async function receiveLogout(
  provider: Provider,
  request: FastifyRequest,
  { logouts, audit, now }: Pick<ForeignSignInDeps, 'audit' | 'now'> & { logouts: Pick<ProviderLogoutStore, 'note'> }
): Promise<void> {
  const form = formOf(request)
  const token = form.get('logout_token')
  if (token === undefined) throw refusal(form.isRepeated('logout_token') ? 'repeated_parameter' : 'no_logout_token')
  const receivedAt = now().getTime()
  const verified = await provider.verifyLogoutToken(token)
  if (verified.kind === 'unavailable') {
    const description = 'The keys of the provider cannot be read now.'
    throw new OAuthError('temporarily_unavailable', description, { cause: verified.error, isElsewhere: true })
  }
  if (verified.kind === 'refused') throw refusal(verified.reason)
  const { issuer } = provider.settings
  const { jti, issuedAt, ends, expiresAt } = verified
  const refusedSeconds = Math.ceil(expiresAt - now().getTime() / 1000) + TOLERANCE_SECONDS
  const isFirst = await logouts.note({ issuer, jti, issuedAt, receivedAt, ends, refusedSeconds }, request.id)
  if (!isFirst) throw refusal('used_jti')
  audit.record(request, { event: 'signed_out_by_provider', reason: 'sid' in ends ? 'session' : 'identity' })
}

function refusal(reason: string): OAuthError {
  return new OAuthError('invalid_request', 'The logout token is not valid.', { reason: `logout_token_${reason}` })
}
