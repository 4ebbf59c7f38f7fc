import { type Finding, ok, warning } from '@valetkey/service-kit'
import type { Config } from '../../config.js'
import type { Scope } from '../../storage/postgres/scopes.js'

/** Whether clients that no operator registered can be used as configured. */
export function evaluateClientMetadata(
  { policy }: Config['clientMetadata'],
  scopes: readonly Pick<Scope, 'name' | 'isDiscoverable'>[]
): Finding {
  const check = 'CLIENT_ID_METADATA'
  if (policy.mode === 'off') return ok(check, 'is off: only registered clients are accepted')
  const discoverable = scopes.filter(({ isDiscoverable }) => isDiscoverable)
  if (discoverable.length > 0) {
    return ok(check, `is ${policy.mode}; such clients may request ${discoverable.map(({ name }) => name).join(', ')}`)
  }
  return warning(check, {
    what: `is ${policy.mode}, but no scope is discoverable`,
    why: 'Clients that no operator registered get invalid_scope for each request.',
    fix: 'valetkey scopes update NAME --discoverable'
  })
}
