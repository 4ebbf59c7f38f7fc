import {
  evaluateCallback,
  failureAfterCallback,
  mergeClaims,
  type ProviderFailure,
  type ProviderSettings,
  providerFailure,
  type ResponseMode
} from '@valetkey/sign-in-rules'
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  type Configuration,
  calculatePKCECodeChallenge
} from 'openid-client'
import { classifyError } from './classify-error.js'
import type { ClientCredential } from './client-credential.js'
import { fetchKeys, type OnSkippedKey } from './fetch-keys.js'
import { type IdTokenClaims, verifyIdToken } from './id-token.js'
import { createLogoutVerifier } from './logout-verifier.js'
import { createDiscovery, idTokenOf } from './provider-discovery.js'
import { createProviderKeys, type ProviderKeys } from './provider-keys.js'
import type { Fetch } from './proxied-fetch.js'
import { readUserInfo, type UnreadUserInfo } from './user-info.js'

/** The random values of one sign-in. */
export type SignInSecrets = { state: string; nonce: string; verifier: string }

export type ProviderRequest = SignInSecrets & {
  /** `login` and `select_account` of the client's `prompt`. */
  prompt: readonly string[]
  /** The user must sign in at the provider now, even with a session there. */
  confirms: boolean
}

type Failed = { kind: 'failed'; failure: ProviderFailure; error?: unknown }

export type ProviderStart = { kind: 'redirect'; url: string } | Failed

export type ProviderSignIn =
  | {
      kind: 'verified'
      /** The claims of the ID token; what it lacks is from UserInfo. */
      claims: IdTokenClaims
      /** The token for `id_token_hint`. Undefined if the provider cannot end its session. */
      idToken: string | undefined
      /** Why UserInfo was not read, if a claim that is only shown is missing. */
      unread: UnreadUserInfo | undefined
    }
  | Failed

/** The page that starts a sign-in with the provider; its other addresses are below. */
export function pathOfProvider({ id }: Pick<ProviderSettings, 'id'>): `/login/with/${string}` {
  return `/login/with/${id}`
}

/** A longer ID token is not kept: as a parameter, it would make an address that servers refuse. */
const MAX_HINT_LENGTH = 6_000

/**
 * One OpenID provider, for which Valetkey is the client (OpenID Connect Core 1.0, RFC 9700). Nothing is requested before the
 * first sign-in.
 * @param redirectUri of this provider alone, because that prevents mix-up (RFC 9700 §4.4.2)
 * @param onSkippedKey is called for each key that cannot be used, whenever the keys are read
 */
export function createProvider(
  settings: ProviderSettings,
  credential: ClientCredential,
  redirectUri: string,
  send: Fetch,
  onSkippedKey: OnSkippedKey = () => {}
) {
  const readKeys = fetchKeys(send, onSkippedKey)
  const discovered = createDiscovery(settings, credential, { send, readKeys })
  const findKeys = createProviderKeys(discovered, readKeys)

  return {
    settings,
    /** The address that the browser is sent to. */
    async start(request: ProviderRequest): Promise<ProviderStart> {
      try {
        const configuration = await discovered()
        const mode = responseMode(settings, configuration)
        const parameters = await authorizationParameters(settings, request, redirectUri, mode)
        return { kind: 'redirect', url: buildAuthorizationUrl(configuration, parameters).href }
      } catch (error) {
        return failed(error)
      }
    },
    /** @param query of the callback, as the browser sent it */
    async finish(query: string, secrets: SignInSecrets, confirms: boolean): Promise<ProviderSignIn> {
      let configuration: Configuration
      try {
        configuration = await discovered()
      } catch (error) {
        return failed(error)
      }
      try {
        const response = { query, redirectUri, secrets, confirms }
        const outcome = await finishSignIn(configuration, findKeys, settings, response)
        return outcome.kind === 'verified' ? outcome : { ...outcome, failure: failureAfterCallback(outcome.failure) }
      } catch (error) {
        return { kind: 'failed', failure: failureAfterCallback(classifyError(error)), error }
      }
    },
    /**
     * Returns the URL at which the browser ends its session at the provider (RP-Initiated Logout 1.0). Undefined if that is
     * not possible now.
     */
    async endSessionUrl(idToken: string, postLogoutRedirectUri: string): Promise<string | undefined> {
      try {
        const configuration = await discovered()
        if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined
        const parameters = { id_token_hint: idToken, post_logout_redirect_uri: postLogoutRedirectUri }
        return buildEndSessionUrl(configuration, parameters).href
      } catch {
        return undefined
      }
    },
    verifyLogoutToken: createLogoutVerifier(findKeys, settings),
    /** Examines the provider for `doctor`. @returns what is wrong, or undefined */
    async examine(): Promise<ProviderFailure | undefined> {
      return discovered().then(() => undefined, classifyError)
    }
  }
}

export type Provider = ReturnType<typeof createProvider>

function failed(error: unknown): Failed {
  return { kind: 'failed', failure: classifyError(error), error }
}

/** `query` is the default of the code flow and is not sent, unless it is configured. */
function responseMode({ responseMode: configured }: ProviderSettings, configuration: Configuration) {
  const { response_modes_supported: announced = ['query'] } = configuration.serverMetadata()
  const isFormOnly = !announced.includes('query') && announced.includes('form_post')
  return configured ?? (isFormOnly ? 'form_post' : undefined)
}

async function authorizationParameters(
  { scopes }: ProviderSettings,
  { state, nonce, verifier, prompt, confirms }: ProviderRequest,
  redirectUri: string,
  mode: ResponseMode | undefined
): Promise<Record<string, string>> {
  const wanted = confirms ? ['login'] : prompt
  return {
    response_type: 'code',
    redirect_uri: redirectUri,
    ...(mode !== undefined && { response_mode: mode }),
    scope: scopes.join(' '),
    state,
    nonce,
    // Always, whether the provider announces it or not.
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...(wanted.length > 0 && { prompt: wanted.join(' ') }),
    ...(confirms && { max_age: '0' })
  }
}

type Callback = { query: string; redirectUri: string; secrets: SignInSecrets; confirms: boolean }

async function finishSignIn(
  configuration: Configuration,
  findKeys: ProviderKeys,
  settings: ProviderSettings,
  { query, redirectUri, secrets, confirms }: Callback
): Promise<ProviderSignIn> {
  const {
    issuer,
    authorization_response_iss_parameter_supported: announcesIss,
    ...metadata
  } = configuration.serverMetadata()
  const callback = evaluateCallback(new URLSearchParams(query), { issuer, announcesIss: announcesIss === true })
  if (callback.kind === 'failed') return callback
  // The library takes redirect_uri from this address, so it is built from the configured one and not from the request.
  const tokens = await authorizationCodeGrant(configuration, new URL(`${redirectUri}?${query}`), {
    expectedState: secrets.state,
    pkceCodeVerifier: secrets.verifier
  })
  const idToken = idTokenOf(tokens)
  if (idToken === undefined) return { kind: 'failed', failure: providerFailure('misconfigured', 'unexpected_response') }
  const verified = await verifyIdToken(idToken, findKeys, settings, { nonce: secrets.nonce, confirms })
  if (verified.kind === 'failed') return verified
  const { claims: idClaims } = verified
  const userInfo = await readUserInfo(configuration, settings, { idClaims, accessToken: tokens.access_token })
  if (userInfo.kind === 'failed') return userInfo
  const isHint = metadata.end_session_endpoint !== undefined && idToken.length <= MAX_HINT_LENGTH
  const { sub, iat, auth_time } = idClaims
  return {
    kind: 'verified',
    claims: { ...mergeClaims(userInfo.claims, idClaims), sub, iat, auth_time },
    idToken: isHint ? idToken : undefined,
    unread: userInfo.unread
  }
}
