import type { PublicDeps } from '../app.js'
import type { CompletionDeps } from '../browser/login/complete-sign-in.js'
import type { SignInProblemDeps } from '../browser/login/sign-in-problem.js'
import { type SignInWays, startPath } from '../browser/login/sign-in-ways.js'
import type { ValidationDeps } from '../browser/pending-requests/validate-request.js'
import { newRandomId } from '../browser/session/random-id.js'
import type { SessionOptions } from '../browser/session/session-plugin.js'
import type { Config } from '../config.js'
import type { ReceiveIdentityDeps } from '../features/foreign-sign-in/identities/receive-identity.js'
import { loadCredential } from '../features/foreign-sign-in/providers/client-credential.js'
import { createProvider, type Provider } from '../features/foreign-sign-in/providers/provider.js'
import { createFetch } from '../features/foreign-sign-in/providers/proxied-fetch.js'
import { hashPassword } from '../platform/passwords/password.js'
import { configuredWays, passkeyParty } from './configured-ways.js'
import { decoyAt, type LocalAccountDeps, wireLocalAccounts } from './local-accounts.js'
import type { Platform } from './platform.js'
import type { Stores } from './stores.js'

export type SignInDeps = Pick<
  PublicDeps,
  'login' | 'handoff' | 'linking' | 'providers' | 'providerLogout' | 'signIns'
> &
  LocalAccountDeps

type SharedDeps = { session: SessionOptions; validation: ValidationDeps }

type ForeignDeps = SharedDeps & { ways: SignInWays; completion: CompletionDeps }

/** Every way to sign in, and the pages where users change their own. */
export function wireSignIn(
  config: Config,
  stores: Stores,
  platform: Platform,
  { session, validation }: SharedDeps
): SignInDeps {
  const { audit, limiter, passwordQueue, now } = platform
  const { issuer, cookieKeys } = config
  const { identities, pending, providerLogouts: logouts, signInAttempts: attempts, users } = stores
  const completion = { issuer, session, users, pending }
  const ways = signInWays(config)
  const providers = createProviders(config, platform)
  const decoyHash = once(() => hashPassword(newRandomId()))
  const { handoff, linking, signIns, receive, problems } = wireForeignSignIn(config, stores, platform, {
    session,
    validation,
    ways,
    completion
  })
  return {
    login: {
      issuer,
      cookieKeys,
      audit,
      validation,
      session,
      ways,
      providers,
      helpUrl: config.signIn.helpUrl,
      signIn: { users, passwordQueue, limiter, audit, decoyHash, decoyAt: decoyAt(cookieKeys) },
      passkeys: passkeySignIn(config, stores, platform),
      completion
    },
    handoff,
    linking,
    signIns,
    providers: { issuer, providers, validation, session, attempts, limiter, now, identities, receive, problems, audit },
    providerLogout: { providers, logouts, audit, now },
    ...wireLocalAccounts(config, stores, platform, { session, ways, completion })
  }
}

function signInWays({ signIn: { local, providers, handoff } }: Config): SignInWays {
  const page = handoff === undefined ? [] : [{ id: 'handoff', label: handoff.label }]
  return { local, foreign: [...providers.map(({ id, label }) => ({ id, label })), ...page] }
}

function createProviders({ issuer, signIn }: Config, { logger }: Platform): readonly Provider[] {
  const send = createFetch(signIn.proxy)
  return signIn.providers.map((settings) =>
    createProvider(
      settings,
      loadCredential(settings),
      `${issuer}/login/with/${settings.id}/callback`,
      send,
      ({ kid, reason }) =>
        logger?.info(
          { event: 'provider_key_skipped', provider: settings.id, kid, reason },
          'a key of a provider is not used'
        )
    )
  )
}

function passkeySignIn(config: Config, { passkeys, usedChallenges }: Stores, { audit, limiter, now }: Platform) {
  const party = passkeyParty(config)
  if (party === undefined) return undefined
  const { cookieKeys } = config
  return { relyingParty: party, cookieKeys, passkeys, challenges: usedChallenges, limiter, audit, now }
}

/** Sign-in with a login page, linking, and the page of the ways to sign in. */
function wireForeignSignIn(
  config: Config,
  stores: Stores,
  { audit, now }: Platform,
  { session, validation, ways, completion }: ForeignDeps
): Pick<PublicDeps, 'handoff' | 'linking' | 'signIns'> & { receive: ReceiveIdentityDeps; problems: SignInProblemDeps } {
  const { issuer, cookieKeys, signIn } = config
  const { identities, linkProposals: proposals, ownIdentities: own, signInAttempts: attempts, users } = stores
  const problems = { issuer, ways, validation }
  const linking = { issuer, proposals, identities, own, problems, audit, now }
  const receive = { identities, validation, completion, problems, linking, audit, now }
  const foreign = { attempts, now }
  const settings = signIn.handoff
  return {
    receive,
    problems,
    handoff: {
      handoff: settings && { issuer, settings, foreign, receive, identities, problems, validation, audit, now }
    },
    linking: {
      issuer,
      cookieKeys,
      proposals,
      confirmation: { identities, own },
      users,
      cookies: session.cookies,
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
      session,
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

/** Creates the value at the first call: a hash takes 19 MiB. After a failure, the next call tries again. */
function once<Value>(create: () => Promise<Value>): () => Promise<Value> {
  let created: Promise<Value> | undefined
  return () => {
    created ??= create().catch((error: unknown) => {
      created = undefined
      throw error
    })
    return created
  }
}
