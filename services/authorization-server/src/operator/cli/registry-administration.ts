import type { RegistryAdministration } from '../../features/registry-file/registry-change.js'
import { createClientChangeStore } from '../../storage/postgres/client-changes.js'
import { createClientLogoStore } from '../../storage/postgres/client-logos.js'
import { createClientSecretStore } from '../../storage/postgres/client-secrets.js'
import { createClientStore } from '../../storage/postgres/clients.js'
import { createConsentStore } from '../../storage/postgres/consents.js'
import { createResourceServerStore } from '../../storage/postgres/resource-servers.js'
import { createScopeStore } from '../../storage/postgres/scopes.js'
import type { CommandDeps } from './command-deps.js'

/** What commands about clients, scopes and resource servers need. */
export function registryAdministrationOf(context: CommandDeps): RegistryAdministration {
  const database = context.database()
  return {
    clients: createClientStore(database),
    changes: createClientChangeStore(database),
    secrets: createClientSecretStore(database),
    scopes: createScopeStore(database),
    resourceServers: createResourceServerStore(database),
    consents: createConsentStore(database),
    logos: createClientLogoStore(database)
  }
}
