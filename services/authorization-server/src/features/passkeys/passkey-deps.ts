import type { RelyingParty } from '@valetkey/sign-in-rules'
import type { FormPage } from '../../browser/csrf/check-form.js'
import type { SessionOptions } from '../../browser/session/session-plugin.js'
import type { Limiter } from '../../platform/rate-limits/limiter.js'
import type { ConfiguredWays, SignInWayStore } from '../../storage/postgres/sign-in-ways.js'
import type { PasskeyStore } from './passkey-store.js'
import type { UsedChallengeStore } from './used-challenge-store.js'

/** What the pages of passkeys and the sign-in with one use: the stores of the feature by their names, and parts of the core. */
export type PasskeyDeps = FormPage & {
  productName: string
  /** Undefined if users cannot sign in with a passkey. */
  relyingParty: RelyingParty | undefined
  configured: ConfiguredWays
  passkeys: PasskeyStore
  ways: SignInWayStore
  challenges: UsedChallengeStore
  session: SessionOptions
  limiter: Pick<Limiter, 'attempt' | 'count'>
  now: () => Date
}
