import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { createClientStore } from '../../storage/postgres/clients.js'
import { createGrantedAccessStore, type WhoseGrants } from '../../storage/postgres/granted-access.js'
import { createResourceServerStore } from '../../storage/postgres/resource-servers.js'
import { createUserStore, type UserStore } from '../../storage/postgres/users.js'
import {
  type GrantListing,
  grantDocument,
  listGrants,
  revokeGrant,
  revokeGrants
} from '../use-cases/administer-grants.js'
import { findUserByEither } from '../use-cases/administer-users.js'
import { authorOf, type CommandDeps } from './command-deps.js'
import { requireConfirmation } from './confirm.js'
import { CommandFailure } from './exit.js'
import { addLimitOption } from './limit.js'
import { table } from './table.js'

type Filter = { user?: string; client?: string }
type ListOptions = Filter & { resource?: string; limit: number; json?: boolean }
type RevokeOptions = Filter & { yes?: boolean; json?: boolean }

const MAX_LISTED = 1_000

export function addGrantCommands(program: Command, context: CommandDeps): void {
  const grants = program.command('grants').description('access that users have granted to clients')
  const deps = (): GrantListing & { users: UserStore } => ({
    grantedAccess: createGrantedAccessStore(context.database()),
    users: createUserStore(context.database()),
    clients: createClientStore(context.database()),
    resourceServers: createResourceServerStore(context.database())
  })

  async function toFilter({ user, client }: Filter): Promise<WhoseGrants> {
    return { userId: user === undefined ? undefined : (await findUserByEither(user, deps())).userId, clientId: client }
  }

  addLimitOption(grants.command('list'), MAX_LISTED)
    .description('list the active grants')
    .option('--user <user>', 'only grants of this user, by id or name')
    .option('--client <client_id>', 'only grants to this client')
    .option('--resource <api>', 'only grants for this API, by the name or audience of a resource server')
    .option('--json', 'print {"grants":[…]}')
    .action(async ({ json, limit, resource, ...filter }: ListOptions) => {
      const question = { ...(await toFilter(filter)), resource }
      const { entries, next } = await listGrants(question, { limit }, deps())
      const rows = entries.map((grant) => [
        grant.grantId,
        grant.username,
        grant.clientName,
        grant.scope.join(' '),
        grant.lastUsedAt?.toISOString() ?? 'never'
      ])
      const header = ['GRANT ID', 'USER NAME', 'CLIENT', 'SCOPE', 'LAST USED']
      const lines = rows.length === 0 ? ['There are no matching grants.'] : table(header, rows)
      printResult(context, json, { grants: entries.map(grantDocument) }, lines)
      if (next !== undefined)
        context.say(`There are more than ${limit} grants: pass --user, --client or --resource, or raise --limit.\n`)
    })

  grants
    .command('revoke')
    .description('revoke grants and their tokens; with --user or --client also delete the remembered consents')
    .argument('[grant_id]', 'one grant; otherwise pass --user, --client or both')
    .option('--user <user>', 'all grants of this user, by id or name')
    .option('--client <client_id>', 'all grants to this client')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"grant_id"} or {"user_id","client_id","ended_grants"}')
    .action(async (grantId: string | undefined, { yes, json, ...filter }: RevokeOptions) => {
      const isOfMany = filter.user !== undefined || filter.client !== undefined
      if ((grantId !== undefined) === isOfMany) {
        throw new CommandFailure('usage', 'pass one grant_id, or --user, --client or both')
      }
      if (grantId !== undefined) {
        await requireConfirmation(`Revoke grant ${grantId}?`, yes, context)
        await revokeGrant(grantId, authorOf(context), deps())
        return printResult(context, json, { grant_id: grantId }, [`Revoked grant ${grantId}`])
      }
      const found = await toFilter(filter)
      const { userId, clientId } = found
      const whose = [filter.user && `of ${filter.user}`, filter.client && `to ${filter.client}`].filter(Boolean)
      await requireConfirmation(`Revoke all grants ${whose.join(' ')}?`, yes, context)
      const ended = await revokeGrants(found, authorOf(context), deps())
      const lines = [`Revoked ${ended ?? 'all'} grants ${whose.join(' ')}`]
      printResult(context, json, { user_id: userId, client_id: clientId, ended_grants: ended }, lines)
    })
}
