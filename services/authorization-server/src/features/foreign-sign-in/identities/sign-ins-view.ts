import type { FormParameters } from '@valetkey/oauth-protocol'
import { mayRemoveWay, type UsableWays } from '@valetkey/sign-in-rules'
import type { Identity } from './identity-store.js'

/** A configured provider or login page. */
export type LinkableWay = { label: string; issuer: string; startUrl: string }

export type SignInsSituation = {
  identities: readonly Identity[]
  usable: UsableWays
  ways: readonly LinkableWay[]
  /** Whether passkeys are configured. */
  hasPasskeys: boolean
}

/** What `account-sign-ins.hbs` shows. An identity that is the last way in has no button. */
export function signInsView({ identities, usable, ways, hasPasskeys }: SignInsSituation) {
  const isUsable = ({ issuer }: Identity) => ways.some((way) => way.issuer === issuer)
  const linked = new Set(identities.map(({ issuer }) => issuer))
  return {
    hasPassword: usable.hasPassword,
    // Passkeys belong to accounts with a password; others could only read that they cannot add one.
    hasPasskeys: hasPasskeys && (usable.hasPassword || usable.passkeys > 0),
    passkeys: usable.passkeys,
    identities: identities.map((identity) => ({
      issuer: identity.issuer,
      subject: identity.subject,
      label: ways.find(({ issuer }) => issuer === identity.issuer)?.label ?? identity.issuer,
      isUsable: isUsable(identity),
      since: identity.createdAt,
      lastUsed: identity.lastUsedAt ?? '',
      mayUnlink: mayRemoveWay(usable, isUsable(identity))
    })),
    linkable: ways.filter(({ issuer }) => !linked.has(issuer)).map(({ label, startUrl }) => ({ label, url: startUrl }))
  }
}

const DONE: ReadonlyMap<unknown, string> = new Map([
  ['linked', 'sign_ins.linked'],
  ['unlinked', 'sign_ins.unlinked']
])

/** The notice after a change: `?done=…` or `?problem=…`. Empty for no notice. */
export function signInsNotice(query: FormParameters) {
  return {
    done: DONE.get(query.get('done')) ?? '',
    problem: query.get('problem') === 'last_way' ? 'sign_ins.last_way' : ''
  }
}
