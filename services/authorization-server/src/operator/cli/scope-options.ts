import type { Command } from 'commander'
import type { ScopeSettings } from '../use-cases/administer-scopes.js'

export type ScopeOptions = {
  resource?: string
  default?: boolean
  discoverable?: boolean
  selfService?: boolean
  selects?: boolean
}

/** Options of both `create` and `update`. */
export function addScopeOptions(command: Command): Command {
  return command
    .option(
      '--resource <api>',
      'the API that the scope belongs to: name or audience of a resource server; "" for the default API (RESOURCE_URL)'
    )
    .option('--default', 'requested by clients that send no scope')
    .option('--no-default', 'requested only by name')
    .option('--discoverable', 'available to clients that no operator registered')
    .option('--no-discoverable', 'available to registered clients only')
    .option('--self-service', 'users may choose it for apps that they register')
    .option('--no-self-service', 'only operators may register clients for it')
    .option('--selects', 'gives access only to what the user chooses on a page of the API')
    .option('--no-selects', 'users choose nothing at the API')
}

export function scopeSettingsOf({
  resource,
  default: isDefault,
  discoverable,
  selfService,
  selects
}: ScopeOptions): ScopeSettings {
  return { resource, isDefault, isDiscoverable: discoverable, isSelfService: selfService, selects }
}
