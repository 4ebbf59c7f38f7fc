import type { ForeignSignOut } from '../../../browser/session/foreign-sign-out.js'
import { decryptIdToken, type SessionOptions } from '../../../browser/session/session-plugin.js'
import type { Provider } from './provider.js'
import { providerFormSources } from './provider-form-sources.js'

/** Ends the session at the provider that the user signed in with (OpenID Connect RP-Initiated Logout 1.0). */
export function createSignOutAtProvider({
  issuer,
  providers,
  session
}: {
  issuer: string
  providers: readonly Provider[]
  session: Pick<SessionOptions, 'cookies'>
}): ForeignSignOut {
  const providerOf = (way: { kind: string; id?: string }) =>
    way.kind === 'provider' ? providers.find(({ settings }) => settings.id === way.id) : undefined

  return {
    offer({ way, encryptedIdToken }) {
      const provider = encryptedIdToken === undefined ? undefined : providerOf(way)
      if (provider === undefined) return undefined
      const { label, issuer: ofProvider } = provider.settings
      return { label, formSources: providerFormSources(ofProvider) }
    },
    async findUrl({ way }, request) {
      const provider = providerOf(way)
      const idToken = decryptIdToken(request, session)
      if (provider === undefined || idToken === undefined) return undefined
      return provider.endSessionUrl(idToken, `${issuer}/login?done=signed_out`)
    }
  }
}
