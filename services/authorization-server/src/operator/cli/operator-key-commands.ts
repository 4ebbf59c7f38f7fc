import { printResult } from '@valetkey/service-kit'
import { type Command, Option } from 'commander'
import {
  createOperatorKeyStore,
  OPERATOR_PURPOSES,
  type OperatorPurpose
} from '../../storage/postgres/operator-keys.js'
import {
  createOperatorKey,
  operatorKeyDocument,
  revocationDocument,
  revokeOperatorKey
} from '../use-cases/administer-operator-keys.js'
import { authorOf, type CommandDeps } from './command-deps.js'
import { requireConfirmation } from './confirm.js'
import { addLimitOption, upTo } from './limit.js'
import { table } from './table.js'

export function addOperatorKeyCommands(program: Command, context: CommandDeps): void {
  const keys = program.command('operator-keys').description('credentials for the administration API')
  const deps = () => ({ operatorKeys: createOperatorKeyStore(context.database()) })

  keys
    .command('create')
    .description('create a key; it is printed once')
    .requiredOption('--name <text>', 'who will use it; audit entries show this name')
    .addOption(new Option('--only <purpose>', 'the only thing that the key may do').choices(OPERATOR_PURPOSES))
    .option('--json', 'print {"operator_key_id","operator_key"}')
    .action(async ({ name, only, json }: { name: string; only?: OperatorPurpose; json?: boolean }) => {
      const { key, operatorKey } = await createOperatorKey({ name, purpose: only }, authorOf(context), deps())
      printResult(context, json, { operator_key_id: key.operatorKeyId, operator_key: operatorKey }, [
        `Created operator key ${key.name}`,
        `operator key id: ${key.operatorKeyId}`,
        `operator key:    ${operatorKey}`,
        'It is shown only once.'
      ])
    })

  addLimitOption(keys.command('list'))
    .description('list all keys, including revoked ones')
    .option('--json', 'print {"operator_keys":[…]}')
    .action(async ({ json, limit }: { json?: boolean; limit?: number }) => {
      const found = upTo(limit, await deps().operatorKeys.list(), 'operator keys', context)
      const rows = found.map((key) => [
        key.operatorKeyId,
        key.name,
        key.purpose ?? 'everything',
        key.revokedAt === undefined ? 'live' : 'revoked',
        key.lastUsedAt?.toISOString() ?? 'never'
      ])
      const header = ['OPERATOR KEY ID', 'NAME', 'MAY', 'STATE', 'LAST USED']
      const lines = rows.length === 0 ? ['There are no operator keys.'] : table(header, rows)
      printResult(context, json, { operator_keys: found.map(operatorKeyDocument) }, lines)
    })

  keys
    .command('revoke')
    .description('revoke a key and all keys created with it; safe to repeat')
    .argument('<operator_key_id>')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"operator_key_id",…,"also_revoked"}')
    .action(async (operatorKeyId: string, { yes, json }: { yes?: boolean; json?: boolean }) => {
      await requireConfirmation(`Revoke operator key ${operatorKeyId} and all keys created with it?`, yes, context)
      const result = await revokeOperatorKey(operatorKeyId, authorOf(context), deps())
      const { key, alsoRevoked } = result
      printResult(context, json, revocationDocument(result), [
        `Revoked operator key ${key.name}`,
        ...(alsoRevoked > 0 ? [`Also revoked ${alsoRevoked} created with it`] : [])
      ])
    })
}
