import { readFile, stat } from 'node:fs/promises'
import { decodeText, printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { authorOf, type CommandDeps } from '../../../operator/cli/command-deps.js'
import { CommandFailure } from '../../../operator/cli/exit.js'
import { ISSUER_OPTION } from './identity-commands.js'
import { createIdentityRebindingStore } from './identity-rebinding-store.js'
import { applyRebinding, planRebinding } from './rebind-identities.js'

type Options = { issuer: string; newIssuer?: string; skipUnknown?: boolean; yes?: boolean; json?: boolean }

const MOST_BYTES = 64 * 1024 * 1024

/** `users rebind`: for a provider that gives all users new subjects, for example after a new client id. */
export function addRebindCommand(users: Command, context: CommandDeps): void {
  users
    .command('rebind')
    .description('give identities new subjects, all or none; without --yes, only say what would change')
    .argument('<file>', 'lines of {"from":"old subject","to":"new subject"}')
    .requiredOption(...ISSUER_OPTION)
    .option('--new-issuer <issuer>', 'also give them a new issuer')
    .option('--skip-unknown', 'skip lines for identities that are not linked, for example of a complete export')
    .option('--yes', 'make the changes')
    .option('--json', 'print {"rebound","skipped","not_in_file","applied"}')
    .action(async (file: string, { issuer, newIssuer = issuer, skipUnknown = false, yes = false, json }: Options) => {
      const deps = { rebindings: createIdentityRebindingStore(context.database()) }
      const issuers = { issuer, newIssuer }
      const plan = await planRebinding(await readLines(file), issuers, skipUnknown, deps)
      if (yes) await applyRebinding(plan, issuers, authorOf(context), deps)
      const { rebindings, skipped, rest } = plan
      const document = { rebound: rebindings.length, skipped, not_in_file: rest, applied: yes }
      printResult(context, json, document, [
        `${yes ? 'Changed' : 'Would change'} ${rebindings.length} identities of ${issuer}`,
        `Skipped lines: ${skipped}. Identities of this issuer that are not in the file: ${rest}.`,
        ...(yes ? [] : ['Nothing was changed; pass --yes to make the changes.'])
      ])
    })
}

async function readLines(file: string): Promise<string> {
  try {
    if ((await stat(file)).size > MOST_BYTES) throw new CommandFailure('usage', `${file} is over 64 MiB; divide it`)
    const decoded = decodeText(await readFile(file))
    if ('problem' in decoded) throw new CommandFailure('usage', `${file} ${decoded.problem}`)
    return decoded.text
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    throw new CommandFailure(
      'usage',
      `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`
    )
  }
}
