import { createClientChangeStore } from '../../storage/postgres/client-changes.js'
import { createClientLogoStore } from '../../storage/postgres/client-logos.js'
import { createClientSecretStore } from '../../storage/postgres/client-secrets.js'
import { createClientStore } from '../../storage/postgres/clients.js'
import { createConsentStore } from '../../storage/postgres/consents.js'
import { createResourceServerStore } from '../../storage/postgres/resource-servers.js'
import { createScopeStore } from '../../storage/postgres/scopes.js'
import type { ClientAdministration } from '../use-cases/administer-client.js'
import type { ResourceServerAdministration } from '../use-cases/administer-resource-servers.js'
import type { ScopeAdministration } from '../use-cases/administer-scopes.js'
import type { CommandDeps } from './command-deps.js'

/** What commands about clients, scopes and resource servers need. */
export function registryAdministrationOf(
  context: CommandDeps
): ClientAdministration & ScopeAdministration & ResourceServerAdministration {
  const database = context.database()
  return {
    clients: createClientStore(database),
    changes: createClientChangeStore(database),
    secrets: createClientSecretStore(database),
    scopes: createScopeStore(database),
    resourceServers: createResourceServerStore(database),
    consents: createConsentStore(database),
    clientLogos: createClientLogoStore(database)
  }
}
