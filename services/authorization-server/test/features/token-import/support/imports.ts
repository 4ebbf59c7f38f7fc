import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll } from '@jest/globals'
import { AUDIENCE, type TestServer } from '../../../support/authorization-server.js'
import { type CommandResult, runCommand } from '../../../support/command-line.js'

const HOUR = 3_600_000

const sha256 = (value: string) => createHash('sha256').update(value).digest('hex')

/** A refresh token as another server makes it. */
export const foreignToken = () => randomBytes(32).toString('base64url')

export const inHours = (hours: number) => new Date(Date.now() + hours * HOUR).toISOString()

/** A line of a token, which expires in an hour. */
export const tokenLine = (token: string, change: object) => ({
  refresh_token_sha256: sha256(token),
  scope: 'files.read',
  created_at: inHours(-24),
  expires_at: inHours(1),
  ...change
})

export type ImportOptions = { more?: readonly string[]; environment?: Record<string, string> }

/** Runs `tokens import` with files in a folder of the test file. */
export function importFiles() {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'tokens-'))
  })
  afterAll(() => rm(directory, { recursive: true }))

  /** @param lines objects, or texts as they are */
  return async (
    { database }: Pick<TestServer, 'database'>,
    lines: readonly (object | string)[],
    { more = [], environment = {} }: ImportOptions = {}
  ): Promise<CommandResult> => {
    const file = path.join(directory, 'tokens.ndjson')
    const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
    await writeFile(file, texts.map((text) => `${text}\n`).join(''))
    const settings = { RESOURCE_URL: AUDIENCE, ...environment }
    return runCommand(database, ['tokens', 'import', file, ...more], { environment: settings })
  }
}
