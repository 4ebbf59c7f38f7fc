import {
  type Claims,
  claimsAt,
  type ProviderFailure,
  type ProviderSettings,
  providerFailure
} from '@valetkey/sign-in-rules'
import { type Configuration, fetchUserInfo, WWWAuthenticateChallengeError } from 'openid-client'
import { classifyError } from './classify-error.js'

export type UnreadUserInfo = { failure: ProviderFailure; error: unknown }

/** `unread` and the sign-in goes on: only names are missing, which are only shown. */
export type UserInfo =
  | { kind: 'claims'; claims: Claims; unread?: UnreadUserInfo }
  | ({ kind: 'failed' } & UnreadUserInfo)

/**
 * The claims of UserInfo, if the ID token lacks one that is used (OpenID Connect Core 1.0 §5.3). The request may fail: many
 * providers refuse it, for example if the access token is for another API. Only a claim of the gate is necessary.
 */
export async function readUserInfo(
  configuration: Configuration,
  settings: ProviderSettings,
  { idClaims, accessToken }: { idClaims: Claims & { sub: string }; accessToken: string }
): Promise<UserInfo> {
  const lacks = (claim: string): boolean => claimsAt(idClaims, claim).length === 0
  const isNecessary = Object.keys(settings.require).some(lacks)
  const isUsed = isNecessary || shownClaims(settings).some((claim) => !Object.hasOwn(idClaims, claim))
  if (!isUsed || configuration.serverMetadata().userinfo_endpoint === undefined) return { kind: 'claims', claims: {} }
  try {
    return { kind: 'claims', claims: await fetchUserInfo(configuration, accessToken, idClaims.sub) }
  } catch (error) {
    const unread = { failure: classifyUserInfo(error), error }
    // Another subject (§5.3.2) is no missing response, but a contradiction.
    const isRefused = isNecessary || unread.failure.reason === 'wrong_subject'
    return isRefused ? { kind: 'failed', ...unread } : { kind: 'claims', claims: {}, unread }
  }
}

function shownClaims({ provisioning, usernameClaim }: ProviderSettings): readonly string[] {
  return ['name', ...(provisioning === 'create' ? [usernameClaim] : [])]
}

/** A challenge refuses the access token here, and the client at the token endpoint. */
function classifyUserInfo(error: unknown): ProviderFailure {
  const isRefusal = error instanceof WWWAuthenticateChallengeError && error.status < 500
  return isRefusal ? providerFailure('misconfigured', 'user_info_refused') : classifyError(error)
}
