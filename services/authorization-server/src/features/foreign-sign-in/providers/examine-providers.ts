import { type Finding, ok, warning } from '@valetkey/service-kit'
import type { ProviderFailure, ProviderSettings } from '@valetkey/sign-in-rules'
import { loadCredential } from './client-credential.js'
import { createProvider } from './provider.js'
import { createFetch, type ProxySettings } from './proxied-fetch.js'

/**
 * Reads the metadata of each provider. A provider that does not respond is a warning: the service starts without it, and other
 * ways to sign in work.
 * @throws {ConfigurationError} if the secret or the key of a provider cannot be read
 */
export function examineProviders(
  providers: readonly ProviderSettings[],
  proxy?: ProxySettings
): Promise<readonly Finding[]> {
  const send = createFetch(proxy)
  // Outside the promise, so that a wrong setting throws at once.
  const created = providers.map((settings) => createProvider(settings, loadCredential(settings), '', send))
  return Promise.all(created.map(async ({ settings, examine }) => evaluateProvider(settings, await examine())))
}

function evaluateProvider({ id, issuer }: ProviderSettings, failure: ProviderFailure | undefined): Finding {
  const check = `sign-in provider ${id}`
  if (failure === undefined) return ok(check, `responds, issuer ${issuer}`)
  const isOutage = failure.page === 'unavailable'
  return warning(check, {
    what: isOutage ? `does not respond (${failure.reason})` : `its metadata cannot be used (${failure.reason})`,
    why: 'Users cannot sign in with it. Users who are signed in, tokens and refreshes are not affected.',
    fix: isOutage
      ? `check the provider, and the network from here to ${issuer}/.well-known/openid-configuration`
      : 'set issuer in SIGN_IN_PROVIDERS to exactly the issuer of the metadata'
  })
}
