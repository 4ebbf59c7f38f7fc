import type { ClientAdministration } from '../../operator/use-cases/administer-client.js'
import type { ResourceServerAdministration } from '../../operator/use-cases/administer-resource-servers.js'
import type { ScopeAdministration } from '../../operator/use-cases/administer-scopes.js'
import type { ClientRegistration } from '../../storage/postgres/clients.js'
import type { ResourceServerRegistration } from '../../storage/postgres/resource-servers.js'
import type { Scope } from '../../storage/postgres/scopes.js'
import type { Registered } from './check-entries.js'
import type { Mistakes } from './mistakes.js'
import type { ClientEntry, ResourceServerEntry, ScopeEntry } from './registry-document.js'

export type RegistryAdministration = ClientAdministration & ScopeAdministration & ResourceServerAdministration

type Changed<Kind, Entry> = {
  kind: Kind
  id: string
  action: 'create' | 'update'
  entry: Entry
  /** The place of the entry in the document, such as `clients[3]`. */
  place: string
  changes: object
}
/** `name`: as users and operators know the record; a scope has its id only. */
type Deleted<Kind> = { kind: Kind; id: string; action: 'delete'; name?: string }

/** One step of `valetkey apply`. `changes`: member → old and new value. */
export type RegistryChange =
  | Changed<'resource server', ResourceServerEntry>
  | Changed<'scope', ScopeEntry>
  | Changed<'client', ClientEntry>
  | Deleted<'resource server' | 'scope' | 'client'>

/** The registry before the first change. */
export type Current = {
  servers: readonly ResourceServerRegistration[]
  scopes: readonly Scope[]
  clients: readonly ClientRegistration[]
  /** Clients that no operator registered. No document changes or deletes them. */
  otherClients: readonly ClientRegistration[]
}

/**
 * What the plan of an entry needs. `kept`: those current records that are not deleted. `later`: scopes and APIs as they are when
 * the document has been applied.
 */
export type Known = { current: Current; kept: Current; later: Registered; mistakes: Mistakes }

/** No step without a changed member. */
export function changed(change: RegistryChange & { changes: object }): RegistryChange[] {
  return Object.keys(change.changes).length === 0 ? [] : [change]
}
