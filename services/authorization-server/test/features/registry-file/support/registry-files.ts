import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { stringify } from 'yaml'
import type { RegistryDocument } from '../../../../src/features/registry-file/registry-document.js'
import { type CommandResult, runCommand } from '../../../support/command-line.js'
import { createMigratedDatabase } from '../../../support/migrated-database.js'

const SECRET = 'a-secret-of-another-server-0123456789'

/** A migrated database, and `valetkey` with documents instead of files. Each new record has a secret. */
export async function startRegistry() {
  const stores = await createMigratedDatabase()
  const { database } = stores
  const directory = mkdtempSync(path.join(tmpdir(), 'registry-'))
  const valetkey = (...args: string[]): Promise<CommandResult> => runCommand(database, args)
  const apply = (document: RegistryDocument, ...options: string[]): Promise<CommandResult> => {
    for (const { client_id: clientId } of [...(document.resource_servers ?? []), ...(document.clients ?? [])]) {
      writeFileSync(path.join(directory, clientId), SECRET)
    }
    // Without aliases, because each entry is written by itself.
    const stdin = stringify(document, { aliasDuplicateObjects: false })
    return runCommand(database, ['apply', '-f', '-', '--secrets-dir', directory, ...options], { stdin })
  }
  return {
    /** Runs statements that no store has. */
    run: stores.run,
    valetkey,
    apply,
    prune: (document: RegistryDocument, ...options: string[]) => apply(document, '--prune', '--yes', ...options),
    /** Deletes all clients, scopes and resource servers that are not built in. */
    clear: () => apply({ resource_servers: [], scopes: [], clients: [] }, '--prune', '--yes'),
    async exported(): Promise<Required<RegistryDocument>> {
      return JSON.parse((await valetkey('export', '--json')).out)
    },
    async close() {
      await stores.close()
      rmSync(directory, { recursive: true })
    }
  }
}

export type TestRegistry = Awaited<ReturnType<typeof startRegistry>>
