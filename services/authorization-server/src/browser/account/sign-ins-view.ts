import type { Identity } from '../../storage/postgres/identities.js'
import type { SignInMeans } from '../../storage/postgres/own-identities.js'

/** A configured provider or login page. */
export type LinkableWay = { label: string; issuer: string; startUrl: string }

export type SignInsSituation = {
  identities: readonly Identity[]
  means: SignInMeans
  ways: readonly LinkableWay[]
  /** Whether passwords and passkeys are configured. */
  local: boolean
}

/** What `account-sign-ins.hbs` shows. An identity that is the last way in has no button. */
export function signInsView({ identities, means, ways, local }: SignInsSituation) {
  const isUsable = ({ issuer }: Identity) => ways.some((way) => way.issuer === issuer)
  const hasLocalWay = local && (means.hasPassword || means.passkeys > 0)
  const usable = identities.filter(isUsable)
  const linked = new Set(identities.map(({ issuer }) => issuer))
  return {
    hasPassword: local && means.hasPassword,
    hasPasskeys: local,
    passkeys: means.passkeys,
    identities: identities.map((identity) => ({
      issuer: identity.issuer,
      subject: identity.subject,
      label: ways.find(({ issuer }) => issuer === identity.issuer)?.label ?? identity.issuer,
      isUsable: isUsable(identity),
      since: identity.createdAt,
      lastUsed: identity.lastUsedAt ?? '',
      mayUnlink: hasLocalWay || usable.some((other) => other !== identity)
    })),
    linkable: ways.filter(({ issuer }) => !linked.has(issuer)).map(({ label, startUrl }) => ({ label, url: startUrl }))
  }
}

const DONE: ReadonlyMap<unknown, string> = new Map([
  ['linked', 'sign_ins.linked'],
  ['unlinked', 'sign_ins.unlinked']
])

/** The notice after a change: `?done=…` or `?problem=…`. Empty for no notice. */
export function signInsNotice({ done, problem }: { done?: unknown; problem?: unknown }) {
  return { done: DONE.get(done) ?? '', problem: problem === 'last_way' ? 'sign_ins.last_way' : '' }
}
