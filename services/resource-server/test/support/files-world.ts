import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createTestDatabase } from '@valetkey/dev-stack'
import { connectPostgres } from '@valetkey/service-kit'
import type { CommandDeps } from '../../src/operator/cli/command-deps.js'
import { buildProgram } from '../../src/operator/cli/program.js'
import { WITHOUT_LIMITS } from './stored-files.js'

export type FilesWorld = Awaited<ReturnType<typeof createFilesWorld>>

/** A user id derived from a name. */
export const ownerId = (name: string): string =>
  createHash('sha256')
    .update(name)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')

/** A migrated database, a directory, and the command line for both. */
export async function createFilesWorld() {
  const testDatabase = await createTestDatabase()
  const database = connectPostgres(testDatabase.url, { connections: 1, ...WITHOUT_LIMITS })
  const directory = mkdtempSync(path.join(tmpdir(), 'valetkey files '))

  async function run(args: readonly string[], change: Partial<CommandDeps> = {}) {
    const [out, said]: [string[], string[]] = [[], []]
    const context: CommandDeps = {
      databaseUrl: () => testDatabase.url,
      database: () => database,
      out: (text) => out.push(text),
      say: (text) => said.push(text),
      isTerminal: false,
      columns: () => 80,
      confirm: undefined,
      environment: () => ({}),
      untilInterrupted: () => new AbortController().signal,
      ...change
    }
    await buildProgram(context).parseAsync(['node', 'valetkey-files', ...args])
    return { out: out.join(''), said: said.join('') }
  }

  await run(['migrate'])
  return {
    databaseUrl: testDatabase.url,
    database,
    directory,
    run,
    /** A fresh directory with these files. */
    makeTree(name: string, files: Readonly<Record<string, string>>): string {
      const root = path.join(directory, name)
      mkdirSync(root, { recursive: true })
      for (const [file, content] of Object.entries(files)) {
        mkdirSync(path.dirname(path.join(root, file)), { recursive: true })
        writeFileSync(path.join(root, file), content)
      }
      return root
    },
    async close() {
      rmSync(directory, { recursive: true, force: true })
      await database.close()
      await testDatabase.drop()
    }
  }
}
