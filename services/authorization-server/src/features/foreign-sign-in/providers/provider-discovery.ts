import type { ProviderSettings } from '@valetkey/sign-in-rules'
import {
  allowInsecureRequests,
  Configuration,
  type CustomFetch,
  clockTolerance,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  None
} from 'openid-client'
import { ALGORITHMS } from './algorithms.js'
import { boundedFetch } from './bounded-fetch.js'
import { type ClientCredential, clientAuthentication } from './client-credential.js'
import type { Fetch } from './proxied-fetch.js'

/** The time limit of each request to a provider. */
const TIMEOUT_SECONDS = 5
const TOLERANCE_SECONDS = 30
const KEPT_MS = 3_600_000
/**
 * The pause after a failure: with earlier metadata, users need not wait for the provider; without it, the next user tries
 * again.
 */
const PAUSE_MS = { withMetadata: 60_000, without: 1_000 }

/** The metadata names another issuer (OpenID Connect Discovery 1.0 §4.3). */
export class WrongIssuer extends Error {}

/** How requests are sent; `readKeys`: those for the key set. */
type ProviderRequests = { send: Fetch; readKeys: typeof boundedFetch }

type Known = { configuration: Configuration; readAt: number }

/**
 * Reads the metadata of a provider when it is first needed, and again after an hour (OpenID Connect Discovery 1.0 §4). The
 * earlier metadata is used while that fails. Concurrent callers share one request.
 * @param now for the age only; need not be exact
 */
export function createDiscovery(
  settings: ProviderSettings,
  credential: ClientCredential,
  { send, readKeys }: ProviderRequests,
  now: () => number = () => performance.now()
): () => Promise<Configuration> {
  let known: Known | undefined
  let failed: { error: unknown; until: number } | undefined
  let pending: Promise<Configuration> | undefined

  async function refresh(): Promise<Configuration> {
    try {
      const configuration = await discover(settings, credential, { send, readKeys })
      known = { configuration, readAt: now() }
      failed = undefined
      return configuration
    } catch (error) {
      failed = { error, until: now() + (known === undefined ? PAUSE_MS.without : PAUSE_MS.withMetadata) }
      if (known !== undefined) return known.configuration
      throw error
    } finally {
      pending = undefined
    }
  }

  return async () => {
    const isFresh = known !== undefined && now() - known.readAt < KEPT_MS
    const isPaused = failed !== undefined && now() < failed.until
    if (known !== undefined && (isFresh || isPaused)) return known.configuration
    if (failed !== undefined && isPaused) throw failed.error
    pending ??= refresh()
    return pending
  }
}

async function discover(
  settings: ProviderSettings,
  credential: ClientCredential,
  { send, readKeys }: ProviderRequests
): Promise<Configuration> {
  const asCustomFetch: CustomFetch = (url, options) => boundedFetch(url, options as RequestInit, send)
  const { issuer, clientId, authMethod } = settings
  // Only loopback issuers may be http (provider-settings.ts).
  const insecure = issuer.startsWith('http:') ? [allowInsecureRequests] : []
  const options = { timeout: TIMEOUT_SECONDS, execute: insecure, [customFetch]: asCustomFetch }
  const found = (await discovery(new URL(issuer), clientId, undefined, None(), options)).serverMetadata()
  // The method of authentication depends on the metadata.
  const authentication = await clientAuthentication(credential, found, authMethod)
  // The library ignores a slash at the end, and accepts the placeholder of Entra's multi-tenant issuer.
  if (found.issuer !== issuer) throw new WrongIssuer(`the metadata has the issuer ${JSON.stringify(found.issuer)}`)
  const client = { [clockTolerance]: TOLERANCE_SECONDS }
  // Without this change, the library refuses signed UserInfo of providers that do not announce the algorithm.
  const { supportsPKCE: _, ...announced } = found
  const metadata = { ...announced, userinfo_signing_alg_values_supported: [...ALGORITHMS] }
  const configuration = new Configuration(metadata, clientId, client, authentication)
  configuration.timeout = TIMEOUT_SECONDS
  configuration[customFetch] = (url, options) =>
    url === found.token_endpoint
      ? asCustomFetch(url, options).then(hideIdToken)
      : (url === found.jwks_uri ? readKeys : asCustomFetch)(url, options as RequestInit & typeof options)
  // Without it, the library does not verify the signature of UserInfo.
  enableNonRepudiationChecks(configuration)
  for (const extension of insecure) extension(configuration)
  return configuration
}

const HIDDEN_ID_TOKEN = 'id_token_for_valetkey'

/** Hides the ID token from the library, which must not verify it (id-token.ts). */
async function hideIdToken(response: Response): Promise<Response> {
  if (response.status !== 200) return response
  const { status, headers } = response
  const text = await response.text()
  return new Response(withHiddenIdToken(text), { status, headers })
}

function withHiddenIdToken(text: string): string {
  try {
    const { id_token: idToken, ...others } = JSON.parse(text)
    return JSON.stringify({ ...others, [HIDDEN_ID_TOKEN]: idToken })
  } catch {
    return text
  }
}

/** The ID token of a token response; not verified. */
export function idTokenOf(tokens: Readonly<Record<string, unknown>>): string | undefined {
  const token = tokens[HIDDEN_ID_TOKEN]
  return typeof token === 'string' ? token : undefined
}
