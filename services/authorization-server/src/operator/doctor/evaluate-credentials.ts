import { type Finding, ok, warning } from '@valetkey/service-kit'
import type { CredentialState } from '../../storage/postgres/registry-state.js'
import { isOld, named } from './evaluate-clients.js'

const FIX = {
  'resource server': 'valetkey resource-servers rotate-secret CLIENT_ID',
  'operator key': 'create a new one, and revoke this one: valetkey operator-keys revoke OPERATOR_KEY_ID'
}

/** Credentials that docs/rotation.md rotates yearly and that do not expire. */
export function evaluateCredentials(credentials: readonly CredentialState[], now: Date): readonly Finding[] {
  return (['resource server', 'operator key'] as const).map((kind) => {
    const check = `age of ${kind}s`
    const those = credentials.filter((credential) => credential.kind === kind)
    const old = those.filter(({ createdAt }) => isOld(createdAt, now)).map(({ name }) => name)
    if (old.length === 0) return ok(check, `none of ${those.length} is older than a year`)
    const why = 'An old credential has had more chances to leak.'
    return warning(check, { what: `older than a year: ${named(old)}`, why, fix: FIX[kind] })
  })
}
