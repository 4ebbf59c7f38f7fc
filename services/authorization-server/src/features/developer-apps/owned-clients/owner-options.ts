import type { Command } from 'commander'
import type { ClientExtension } from '../../../operator/cli/client-extension.js'
import { collect } from '../../../operator/cli/client-options.js'
import { authorOf, type CommandDeps } from '../../../operator/cli/command-deps.js'
import { registryAdministrationOf } from '../../../operator/cli/registry-administration.js'
import { createUserStore } from '../../../storage/postgres/users.js'
import { changeOwnership, type OwnerAdministration, ownershipDocument, readOwnership } from './administer-owners.js'
import { createClientOwnerStore } from './client-owner-store.js'

type Given = { owner?: readonly string[]; ownerSecrets?: boolean }

const OWNER = {
  create: 'a user who sees the client and its refused requests in the account; repeatable',
  update: 'replaces all owners; repeatable; "" for none'
}

/** Options for the owners of a client, and their names in its document. */
export const ownerOptions: ClientExtension = {
  addTo: (command, use) => addOwnerOptions(command, use),
  async read(options, context) {
    const { owner, ownerSecrets: ownersChangeSecrets }: Given = options
    if (owner === undefined && ownersChangeSecrets === undefined) return undefined
    const deps = depsOf(context)
    const owners = owner?.filter((each) => each !== '')
    const change = await readOwnership({ owners, ownersChangeSecrets }, deps)
    return async (clientId) => {
      await changeOwnership(clientId, change, authorOf(context), deps)
    }
  },
  async describe(clientIds, context) {
    const found = await depsOf(context).owners.list(clientIds)
    return new Map([...found].map(([clientId, ownership]) => [clientId, ownershipDocument(ownership)]))
  },
  column: {
    header: 'OWNERS',
    valueOf: ({ owners = [] }: Partial<ReturnType<typeof ownershipDocument>>) =>
      owners.map(({ username }) => username).join(' ')
  }
}

function addOwnerOptions(command: Command, use: 'create' | 'update'): Command {
  command.option('--owner <user>', OWNER[use], collect).option('--owner-secrets', 'let the owners add and end secrets')
  return use === 'update'
    ? command.option('--no-owner-secrets', 'do not let the owners add and end secrets; the present ones stay')
    : command
}

function depsOf(context: CommandDeps): OwnerAdministration {
  const { clients, changes } = registryAdministrationOf(context)
  const database = context.database()
  return { clients, changes, users: createUserStore(database), owners: createClientOwnerStore(database) }
}
