import { relyingParty } from '@valetkey/sign-in-rules'
import type { Config } from '../config.js'
import type { ConfiguredWays } from '../storage/postgres/sign-in-ways.js'

/** Undefined if users cannot sign in with a passkey: only local accounts have some. */
export function passkeyParty({ issuer, signIn }: Config) {
  return signIn.local ? relyingParty(issuer) : undefined
}

export function configuredWays(config: Config): ConfiguredWays {
  const { local, providers, handoff } = config.signIn
  const issuers = [...providers, ...(handoff === undefined ? [] : [handoff])].map(({ issuer }) => issuer)
  return { password: local, passkeys: passkeyParty(config) !== undefined, issuers }
}
