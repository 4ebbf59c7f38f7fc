import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { userNameKey } from '@valetkey/sign-in-rules'
import { createUserImportStore } from '../../../../src/features/user-import/user-import-store.js'
import { NOTE } from '../../../support/audit-note.js'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'
import { PASSWORD } from '../../../support/flow.js'

const NORA = 'Nora.Berg@Example.org'

let server: TestServer
let directory: string
let userId: string

beforeAll(async () => {
  server = await startTestServer()
  directory = await mkdtemp(path.join(tmpdir(), 'names-'))
})
beforeEach(async () => {
  await server.database.query({ name: '', text: 'delete from users', values: [] })
  userId = await server.createUser(NORA, PASSWORD)
})
afterAll(async () => {
  await rm(directory, { recursive: true })
  await server.close()
})

async function importNames(lines: readonly object[], ...more: string[]) {
  const file = path.join(directory, 'users.ndjson')
  await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return runCommand(server.database, ['users', 'import', file, '--json', ...more])
}

const missing = { passwordHash: undefined, displayName: undefined, email: undefined, identities: [] }

test.each([[['--dry-run']], [[]]])(
  'import with %j names a name of the database that is spelt differently',
  async (options) => {
    const { code, out, said } = await importNames([{ username: NORA.toLowerCase() }, { username: 'bob' }], ...options)
    const problem = `line 1: ${NORA.toLowerCase()} is the user name of ${NORA}, who exists\n`
    expect([code, said]).toEqual([4, expect.stringContaining(problem)])
    expect(JSON.parse(out)).toMatchObject({ created: 1, existing: 0, refused: 1 })
  }
)

test('import of a file once more skips its users', async () => {
  const { code, out } = await importNames([{ username: NORA }])
  expect([code, JSON.parse(out)]).toMatchObject([0, { existing: 1, refused: 0 }])
})

test('import of a user with the same user_id skips it, also if the name is spelt differently', async () => {
  const { code, out } = await importNames([{ username: NORA.toLowerCase(), user_id: userId }])
  expect([code, JSON.parse(out)]).toMatchObject([0, { existing: 1, refused: 0 }])
})

test('import with --dry-run names two lines with one name', async () => {
  const lines = [{ username: 'Zoe' }, { username: 'bob' }, { username: 'ＺOE' }, { username: 'bob' }]
  const { code, said } = await importNames(lines, '--dry-run')
  expect([code, said]).toEqual([
    2,
    expect.stringContaining('line 3: ＺOE is in line 1 as well, as Zoe\nline 4: bob is in line 2 as well\n')
  ])
})

test('the store of imports creates no second user', async () => {
  const user = { userId: crypto.randomUUID(), keepsId: false, disabled: false, username: NORA.toLowerCase() }
  expect(await createUserImportStore(server.database).add([{ ...user, ...missing }], NOTE)).toBe(0)
})

test('an imported user has the key of its name', async () => {
  const user = { userId: crypto.randomUUID(), keepsId: false, disabled: false, username: 'Tina' }
  await createUserImportStore(server.database).add([{ ...user, ...missing }], NOTE)
  const text = `select name_key from users where username = 'Tina'`
  const rows = await server.database.query({ name: '', text, values: [] })
  expect(rows).toEqual([{ name_key: userNameKey('Tina') }])
})
