import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { authorOf, type CommandDeps } from '../../operator/cli/command-deps.js'
import { requireConfirmation } from '../../operator/cli/confirm.js'
import { CommandFailure } from '../../operator/cli/exit.js'
import { readKeysFile, readKeysFromStdin } from '../../operator/cli/read-keys.js'
import { registryAdministrationOf } from '../../operator/cli/registry-administration.js'
import { table } from '../../operator/cli/table.js'
import {
  addClientKeys,
  type ClientKeyAdministration,
  clientKeyDocument,
  listClientKeys,
  removeClientKey
} from './administer-client-keys.js'
import { type ClientKey, createClientKeyStore } from './client-key-store.js'

type AddOptions = { jwks?: string; jwksStdin?: boolean; json?: boolean }

/** `clients keys add`, `list` and `remove`. */
export function addClientKeyCommands(clients: Command, context: CommandDeps): void {
  const keys = clients.command('keys').description('the public keys of clients with --auth-method private_key_jwt')
  const deps = (): ClientKeyAdministration => ({
    ...registryAdministrationOf(context),
    keys: createClientKeyStore(context.database())
  })

  keys
    .command('add')
    .description('add public keys of a client, which it can use at once; its other keys stay')
    .argument('<client_id>')
    .option('--jwks <file>', 'JWK, JWK Set or PEM')
    .option('--jwks-stdin', 'the same, from standard input')
    .option('--json', 'print {"keys":[…]}')
    .action(async (clientId: string, { jwks: file, jwksStdin, json }: AddOptions) => {
      if ((file === undefined) === !jwksStdin) throw new CommandFailure('usage', 'pass --jwks or --jwks-stdin')
      const jwks = (await readKeysFile(file)) ?? (await readKeysFromStdin(context.stdin))
      const found = await addClientKeys({ clientId, jwks }, authorOf(context), deps())
      print(found, json, [`Client ${clientId} has ${found.length} keys`])
    })

  keys
    .command('list')
    .description('list the registered public keys of a client, oldest first')
    .argument('<client_id>')
    .option('--json', 'print {"keys":[…]}')
    .action(async (clientId: string, { json }: { json?: boolean }) => {
      const found = await listClientKeys(clientId, deps())
      print(found, json, found.length === 0 ? ['The client has no registered keys.'] : linesOf(found))
    })

  keys
    .command('remove')
    .description('remove a public key of a client; assertions that it signed are refused at once')
    .argument('<client_id>')
    .argument('<kid>')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"keys":[…]}, the keys that are left')
    .action(async (clientId: string, kid: string, { yes, json }: { yes?: boolean; json?: boolean }) => {
      await requireConfirmation(`Remove the key ${kid} of client ${clientId}?`, yes, context)
      const left = await removeClientKey({ clientId, kid }, authorOf(context), deps())
      print(left, json, [`Removed the key ${kid}`])
    })

  function print(found: readonly ClientKey[], json: boolean | undefined, lines: string[]): void {
    printResult(context, json, { keys: found.map(clientKeyDocument) }, lines)
  }
}

function linesOf(keys: readonly ClientKey[]): string[] {
  const rows = keys.map(({ kid, jwk, createdAt, lastUsedAt }) => [
    kid,
    jwk.crv ?? jwk.kty ?? '',
    createdAt.toISOString(),
    lastUsedAt?.toISOString() ?? 'never'
  ])
  return table(['KID', 'TYPE', 'CREATED', 'LAST USED'], rows)
}
