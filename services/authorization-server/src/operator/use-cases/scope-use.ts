import type { GrantsWithScope, ScopeInUse } from '../../storage/postgres/scopes.js'
import { findInUse, type ScopeAdministration, scopeDocument } from './administer-scopes.js'

/** What deleting the scope would affect. @property grants live grants that have it now */
export type ScopeUse = Pick<ScopeInUse, 'scope' | 'clientIds' | 'onlyScopeOf'> & { grants: GrantsWithScope }

export async function findScopeUse(name: string, deps: ScopeAdministration): Promise<ScopeUse> {
  const { scope, clientIds, onlyScopeOf } = await findInUse(name, deps)
  return { scope, clientIds, onlyScopeOf, grants: await deps.scopes.countGrants(name) }
}

export function scopeUseDocument({ scope, clientIds, onlyScopeOf, grants: { grants, users, isComplete } }: ScopeUse) {
  return {
    ...scopeDocument(scope),
    client_ids: clientIds,
    only_scope_of: onlyScopeOf,
    live_grants: grants,
    users,
    all_grants_read: isComplete
  }
}
