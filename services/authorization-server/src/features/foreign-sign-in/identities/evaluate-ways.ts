import { type Finding, ok, warning } from '@valetkey/service-kit'
import { named } from '../../../operator/doctor/evaluate-clients.js'
import type { IdentityState } from './identity-state-store.js'

/** Users who cannot sign in, and identities that no configured way uses. */
export function evaluateWays(
  { users, withoutIdentity, otherIssuers }: IdentityState,
  { local }: { local: boolean }
): readonly Finding[] {
  return [evaluateUsers({ users, withoutIdentity }, local), evaluateIssuers(otherIssuers)]
}

function evaluateUsers(
  { users, withoutIdentity }: Pick<IdentityState, 'users' | 'withoutIdentity'>,
  local: boolean
): Finding {
  const check = 'users without a way in'
  if (local) return ok(check, 'LOCAL_SIGN_IN is true')
  if (withoutIdentity === 0) return ok(check, `none of ${users}`)
  return warning(check, {
    what: `${withoutIdentity} of ${users} enabled users have no identity of a configured issuer`,
    why: 'LOCAL_SIGN_IN is false, so they cannot sign in.',
    fix: 'valetkey users link USER --issuer ISSUER --subject SUBJECT, or valetkey users invite USER'
  })
}

function evaluateIssuers(others: IdentityState['otherIssuers']): Finding {
  const check = 'issuers of identities'
  if (others.length === 0) return ok(check, 'all are configured')
  return warning(check, {
    what: `identities of issuers that are not configured: ${named(others.map(({ issuer, count }) => `${issuer} (${count})`))}`,
    why: 'No user can sign in with them. A trailing slash or another host makes another issuer.',
    fix: 'correct the issuer in SIGN_IN_PROVIDERS or LOGIN_HANDOFF_ISSUER, or: valetkey users rebind --issuer OLD --new-issuer NEW FILE'
  })
}
