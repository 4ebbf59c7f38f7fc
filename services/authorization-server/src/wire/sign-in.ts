import { relyingParty } from '@valetkey/sign-in-rules'
import type { PublicDeps } from '../app.js'
import type { CompletionDeps } from '../browser/login/complete-sign-in.js'
import type { ReceiveIdentityDeps } from '../browser/login/receive-identity.js'
import { type SignInWays, startPath } from '../browser/login/ways.js'
import type { ValidationDeps } from '../browser/pending-requests/validate-request.js'
import type { Config } from '../config.js'
import type { ConfiguredWays } from '../storage/postgres/sign-in-ways.js'
import type { Platform } from './platform.js'
import type { Stores } from './stores.js'

type SharedDeps = { ways: SignInWays; validation: ValidationDeps; completion: CompletionDeps }

/** Sign-in with a login page, linking, and the page of the ways to sign in. */
export function wireForeignSignIn(
  config: Config,
  stores: Stores,
  { audit, now }: Platform,
  { ways, validation, completion }: SharedDeps
): Pick<PublicDeps, 'handoff' | 'linking' | 'signIns'> & { receive: ReceiveIdentityDeps } {
  const { issuer, cookieKeys, signIn } = config
  const { identities, linkProposals: proposals, ownIdentities: own, signInAttempts: attempts, users } = stores
  const problems = { issuer, ways, validation }
  const linking = { issuer, proposals, identities, own, problems, audit, now }
  const receive = { identities, validation, completion, problems, linking, audit }
  const foreign = { attempts, now }
  const settings = signIn.handoff
  return {
    receive,
    handoff: {
      handoff: settings && { issuer, settings, foreign, receive, identities, problems, validation, audit, now }
    },
    linking: {
      issuer,
      cookieKeys,
      proposals,
      confirmation: { identities, own },
      users,
      completion,
      problems,
      audit,
      now
    },
    signIns: {
      issuer,
      cookieKeys,
      identities,
      own,
      ways: linkableWays(config),
      configured: configuredWays(config),
      usableWays: stores.signInWays,
      session: completion.session,
      audit
    }
  }
}

function linkableWays({ issuer: ours, signIn: { providers, handoff } }: Config) {
  const page = handoff === undefined ? [] : [{ id: 'handoff', label: handoff.label, issuer: handoff.issuer }]
  return [...providers, ...page].map(({ id, label, issuer }) => ({
    label,
    issuer,
    startUrl: `${ours}${startPath({ id })}?purpose=link`
  }))
}

/** Undefined if users cannot sign in with a passkey: only local accounts have some. */
export function passkeyParty({ issuer, signIn }: Config) {
  return signIn.local ? relyingParty(issuer) : undefined
}

export function configuredWays(config: Config): ConfiguredWays {
  const { local, providers, handoff } = config.signIn
  const issuers = [...providers, ...(handoff === undefined ? [] : [handoff])].map(({ issuer }) => issuer)
  return { password: local, passkeys: passkeyParty(config) !== undefined, issuers }
}
