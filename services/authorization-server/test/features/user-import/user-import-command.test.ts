import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hash as hashBcrypt } from '@node-rs/bcrypt'
import { canonicalName } from '@valetkey/sign-in-rules'
import { createUserStore } from '../../../src/storage/postgres/users.js'
import { EXPORTED_HASHES } from '../../platform/passwords/exported-hashes.js'
import { lastChangeIn } from '../../support/administration.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { OPERATOR, runCommand } from '../../support/command-line.js'
import { attemptSignIn } from '../../support/sign-in.js'

const PASSWORD = 'old secret'
const ISSUER_OF_IDENTITY = 'https://id.example'

let server: TestServer
let directory: string
let bcryptHash: string

beforeAll(async () => {
  server = await startTestServer()
  directory = await mkdtemp(path.join(tmpdir(), 'import-'))
  bcryptHash = await hashBcrypt(PASSWORD, { cost: 4 })
})
beforeEach(() => server.database.query({ name: '', text: 'delete from users', values: [] }))
afterAll(async () => {
  await rm(directory, { recursive: true })
  await server.close()
})

async function importLines(lines: readonly (object | string)[], ...more: string[]) {
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
  return importBytes(`${text}\n`, ...more)
}

async function importBytes(bytes: string | Buffer, ...more: string[]) {
  const file = path.join(directory, 'users.ndjson')
  await writeFile(file, bytes)
  return runCommand(server.database, ['users', 'import', file, '--json', ...more])
}

function exportedHash(name: string) {
  const found = EXPORTED_HASHES.find(({ system }) => system === name)
  if (found === undefined) throw new Error(`no hash of ${name}`)
  return found
}

const countUsers = async () =>
  (await server.database.query({ name: '', text: 'select 1 from users', values: [] })).length
const hashOf = async (username: string) =>
  (await createUserStore(server.database).findWithPassword(canonicalName(username)))?.passwordHash

describe('users import', () => {
  test('a user signs in with the old password; then the hash is argon2id, and the password still works', async () => {
    const { code, out, said } = await importLines([{ username: 'alice', password_hash: bcryptHash }])
    expect([code, said]).toEqual([0, ''])
    expect(JSON.parse(out)).toEqual({ created: 1, existing: 0, refused: 0, dry_run: false })
    expect((await attemptSignIn(server, { username: 'alice', password: 'wrong' })).statusCode).toBe(422)
    expect(await hashOf('alice')).toBe(bcryptHash)
    expect((await attemptSignIn(server, { username: 'alice', password: PASSWORD })).statusCode).toBe(303)
    expect(await hashOf('alice')).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect((await attemptSignIn(server, { username: 'alice', password: PASSWORD })).statusCode).toBe(303)
  })

  test('stores identities, name and address; a user without a hash cannot sign in with a password', async () => {
    const identities = [{ issuer: ISSUER_OF_IDENTITY, subject: '42' }]
    await importLines([{ username: 'bob', identities, display_name: 'Bob B.', email: 'bob@example.com' }])
    const found = await server.deps.admin.users.users.findByName(canonicalName('bob'))
    expect(found).toMatchObject({ displayName: 'Bob B.', email: 'bob@example.com' })
    const text = 'select issuer, subject, user_id from identities'
    const rows = await server.database.query({ name: '', text, values: [] })
    expect(rows).toEqual([{ ...identities[0], user_id: found?.userId }])
    expect((await attemptSignIn(server, { username: 'bob', password: PASSWORD })).statusCode).toBe(422)
  })

  test('skips and names an identity that cannot be used, if the user has others; also in a dry run', async () => {
    const good = { issuer: ISSUER_OF_IDENTITY, subject: '42' }
    const identities = [null, good, { issuer: ISSUER_OF_IDENTITY, subject: '' }, { ...good, subject: '43', kind: 'x' }]
    const lines = [{ username: 'alice' }, { username: 'bob', identities }]
    const named = [
      'line 2: identities[0] is skipped: an identity is not {"issuer","subject"}, both texts',
      expect.stringMatching(/^line 2: identities\[2\] is skipped: the subject must have/),
      expect.stringMatching(/^line 2: identities\[3\] is skipped: an identity is not/)
    ]
    for (const options of [['--dry-run'], []]) {
      const { code, out, said } = await importLines(lines, ...options)
      expect([code, JSON.parse(out).created, said.trim().split('\n')]).toEqual([0, 2, named])
    }
    const rows = await server.database.query({ name: '', text: 'select issuer, subject from identities', values: [] })
    expect(rows).toEqual([good])
  })

  test('a second run creates nothing and changes no user', async () => {
    const lines = [{ username: 'alice', password_hash: bcryptHash }, { username: 'bob' }]
    await importLines(lines)
    await attemptSignIn(server, { username: 'alice', password: PASSWORD })
    const { code, out } = await importLines([...lines, { username: 'carol' }])
    expect([code, JSON.parse(out)]).toEqual([0, { created: 1, existing: 2, refused: 0, dry_run: false }])
    expect(await hashOf('alice')).toMatch(/^\$argon2id/)
  })

  test('--dry-run checks all and changes nothing', async () => {
    const { code, out } = await importLines([{ username: 'alice' }, '', { username: 'bob' }], '--dry-run')
    expect([code, JSON.parse(out)]).toEqual([0, { created: 2, existing: 0, refused: 0, dry_run: true }])
    expect(await countUsers()).toBe(0)
  })

  test('a byte order mark and line ends of Windows are no part of a user', async () => {
    const { code, out } = await importBytes('\uFEFF{"username":"alice"}\r\n{"username":"Zoë"}\r\n')
    expect([code, JSON.parse(out).created]).toEqual([0, 2])
    const names = (await server.deps.admin.users.users.list({ limit: 9 })).map(({ username }) => username)
    expect(names.toSorted()).toEqual(['Zoë', 'alice'])
  })

  test('the example of --help is a file that can be imported', async () => {
    const { out: help } = await runCommand(server.database, ['users', 'import', '--help'])
    const lines = help.split('\n').filter((line) => line.startsWith('  {'))
    expect(lines.length).toBeGreaterThan(1)
    const { code, out } = await importLines(lines)
    expect([code, JSON.parse(out).created]).toEqual([0, lines.length])
  })

  test('each batch is audited with the actor and the number, without hashes', async () => {
    await importLines([{ username: 'alice', password_hash: bcryptHash }, { username: 'bob' }])
    const entry = await lastChangeIn(server)
    const details = { actor: { kind: 'command_line', name: OPERATOR }, fromLine: 1, count: 2 }
    expect(entry).toMatchObject({ event: 'users_imported', details })
    expect(JSON.stringify(entry)).not.toContain('$2b$')
  })

  test('more users than one batch', async () => {
    const lines = Array.from({ length: 1201 }, (_, index) => ({ username: `user ${index}` }))
    const { out } = await importLines(lines)
    expect([JSON.parse(out).created, await countUsers()]).toEqual([1201, 1201])
  })
})

describe('what an export says about a user arrives', () => {
  const USER_ID = '6f0e4a3c-9d51-4c53-9a3b-0d9f4f1b7c22'
  const find = (username: string) => server.deps.admin.users.users.findByName(canonicalName(username))

  test('the id stays, also in capitals', async () => {
    const { code } = await importLines([{ username: 'alice', user_id: USER_ID.toUpperCase() }])
    expect([code, (await find('alice'))?.userId]).toEqual([0, USER_ID])
  })

  test('an id that is imported again after a deletion has another generation: no old session works again', async () => {
    await importLines([{ username: 'alice', user_id: USER_ID }])
    const before = await find('alice')
    await server.database.query({ name: '', text: 'delete from users', values: [] })
    await importLines([{ username: 'alice', user_id: USER_ID }])
    expect((await find('alice'))?.generation).not.toBe(before?.generation)
    expect(before?.generation).toBeGreaterThan(0)
  })

  test('a disabled user is disabled, and signs in only after the operator enables it', async () => {
    await importLines([{ username: 'alice', password_hash: bcryptHash, disabled: true }])
    expect((await find('alice'))?.disabled).toBe(true)
    expect((await attemptSignIn(server, { username: 'alice', password: PASSWORD })).statusCode).toBe(422)
    expect((await runCommand(server.database, ['users', 'enable', 'alice'])).code).toBe(0)
    expect((await attemptSignIn(server, { username: 'alice', password: PASSWORD })).statusCode).toBe(303)
  })

  test('a credential of Keycloak, as an object or as a text', async () => {
    const { text, password } = exportedHash('Keycloak pbkdf2-sha256')
    const lines = [
      { username: 'alice', password_hash: JSON.parse(text) },
      { username: 'bob', password_hash: text }
    ]
    expect((await importLines(lines)).code).toBe(0)
    for (const { username } of lines) {
      expect((await attemptSignIn(server, { username, password })).statusCode).toBe(303)
      expect(await hashOf(username)).toMatch(/^\$argon2id/)
    }
  })

  test.each(['LDAP {SSHA}', 'django BCryptSHA256PasswordHasher', 'passlib sha512_crypt'])(
    'a hash of %s: the user signs in, and the hash is argon2id afterwards',
    async (system) => {
      const { text, password } = exportedHash(system)
      await importLines([{ username: 'alice', password_hash: text }])
      expect((await attemptSignIn(server, { username: 'alice', password: 'wrong' })).statusCode).toBe(422)
      expect((await attemptSignIn(server, { username: 'alice', password })).statusCode).toBe(303)
      expect(await hashOf('alice')).toMatch(/^\$argon2id/)
    }
  )

  test.each([
    { line: { username: 'alice', user_id: USER_ID }, problem: 'the user exists with another user_id' },
    { line: { username: 'alice', disabled: true }, problem: 'the user exists and may sign in' },
    { line: { username: 'carol', user_id: USER_ID }, problem: `the user_id ${USER_ID} is that of another user` }
  ])('or its line is refused (4): $problem', async ({ line, problem }) => {
    await importLines([{ username: 'alice' }, { username: 'bob', user_id: USER_ID }])
    const { code, out, said } = await importLines([line, { username: 'dave' }])
    expect([code, JSON.parse(out)]).toEqual([4, { created: 1, existing: 0, refused: 1, dry_run: false }])
    expect(said).toMatch(`line 1: ${problem}`)
  })

  test('the same file again: no line is refused', async () => {
    const lines = [{ username: 'alice', user_id: USER_ID, disabled: true }]
    await importLines(lines)
    const { code, out } = await importLines(lines)
    expect([code, JSON.parse(out).existing]).toEqual([0, 1])
  })
})

test('--skip-invalid creates the users of the other lines, names the invalid ones, and exits with 4', async () => {
  const lines = ['{"username":', { username: 'alice' }, { username: 'bob', is_active: true }, { username: 'Alice' }]
  const dryRun = await importLines(lines, '--skip-invalid', '--dry-run')
  expect(JSON.parse(dryRun.out)).toEqual({ created: 1, existing: 0, refused: 3, dry_run: true })
  expect(await countUsers()).toBe(0)

  const { code, out, said } = await importLines(lines, '--skip-invalid')
  expect(JSON.parse(out)).toEqual({ created: 1, existing: 0, refused: 3, dry_run: false })
  expect(said).toMatch(/^line 1: .*\nline 3: .*\nline 4: Alice is in line 2 as well, as alice\n/)
  expect([dryRun.code, code, said]).toEqual([4, 4, expect.stringContaining('3 users were not created')])
  expect(await hashOf('alice')).toBeUndefined()
  expect(await countUsers()).toBe(1)
})

test('The refusal of a file with mistakes names the option that skips them', async () => {
  const { code, said } = await importLines([{ username: 'alice' }, 'bob'])
  expect([code, said]).toEqual([2, expect.stringContaining('--skip-invalid')])
})

describe('a file with mistakes creates no user (2), and each mistake is named with its line', () => {
  test.each([
    { name: 'no JSON', line: '{"username":', problem: /is not a JSON object/ },
    { name: 'a list', line: '[]', problem: /is not a JSON object/ },
    { name: 'no username', line: {}, problem: /username is missing/ },
    { name: 'an empty username', line: { username: ' ' }, problem: /username must have/ },
    { name: 'a plain password', line: { username: 'x', password: 'p' }, problem: /"password" is not a member/ },
    { name: 'an id that is no UUID', line: { username: 'x', user_id: '42' }, problem: /subject of an identity/ },
    { name: 'disabled as a text', line: { username: 'x', disabled: 'yes' }, problem: /disabled is not true or false/ },
    { name: 'another name of disabled', line: { username: 'x', is_active: false }, problem: /write "disabled"/ },
    { name: 'another name of user_id', line: { username: 'x', id: 7 }, problem: /write "user_id"/ },
    { name: 'a fact without a place', line: { username: 'x', roles: [] }, problem: /leave it out/ },
    { name: 'a locked hash', line: { username: 'x', password_hash: '!$6$x' }, problem: /"disabled":true/ },
    { name: 'an invalid hash', line: { username: 'x', password_hash: 'md5' }, problem: /password_hash: is no PHC/ },
    {
      name: 'a costly hash',
      line: { username: 'x', password_hash: `$2b$31$${'.'.repeat(53)}` },
      problem: /bcrypt cost/
    },
    { name: 'an address', line: { username: 'x', email: 'no-address' }, problem: /e-mail address/ },
    {
      name: 'identities that are no list',
      line: { username: 'x', identities: {} },
      problem: /identities is not a list/
    },
    {
      name: 'an identity without subject',
      line: { username: 'x', identities: [{ issuer: 'i' }] },
      problem: /identity/
    },
    { name: 'a username for the second time', line: { username: 'alice' }, problem: /alice is in line 1 as well/ }
  ])('$name', async ({ line, problem }) => {
    const { code, out, said } = await importLines([{ username: 'alice' }, line])
    expect([code, out]).toEqual([2, ''])
    expect(said).toMatch(/^line 2: /)
    expect(said).toMatch(problem)
    expect(await countUsers()).toBe(0)
  })

  test.each([
    { name: 'ISO-8859-1', bytes: Buffer.from('{"username":"alice"}\n{"username":"Zoë"}\n', 'latin1') },
    { name: 'UTF-16LE', bytes: Buffer.from('\uFEFF{"username":"alice"}\n', 'utf16le') },
    { name: 'UTF-16BE', bytes: Buffer.from('{"username":"alice"}\n', 'utf16le').swap16() },
    { name: 'half a character', bytes: Buffer.from('{"username":"Zoë').subarray(0, -1) }
  ])('another encoding: $name', async ({ name, bytes }) => {
    const { code, out, said } = await importBytes(bytes)
    expect([code, out, said]).toEqual([2, '', expect.stringContaining('is not UTF-8')])
    if (name !== 'half a character') expect(said).toContain(`is not UTF-8 but ${name}`)
    expect(await countUsers()).toBe(0)
  })

  test('a user_id twice in the file', async () => {
    const user_id = '6f0e4a3c-9d51-4c53-9a3b-0d9f4f1b7c22'
    const { code, said } = await importLines([
      { username: 'alice', user_id },
      { username: 'bob', user_id }
    ])
    expect([code, said]).toEqual([2, expect.stringContaining('is in line 1 as well')])
  })

  test('an identity twice in the file', async () => {
    const identities = [{ issuer: ISSUER_OF_IDENTITY, subject: '1' }]
    const { code, said } = await importLines([
      { username: 'alice', identities },
      { username: 'bob', identities }
    ])
    expect([code, said]).toEqual([2, expect.stringContaining('is in line 1 as well')])
  })

  test('an identity of another user: its line is refused (4), the others are imported', async () => {
    const identities = [{ issuer: ISSUER_OF_IDENTITY, subject: '1' }]
    await importLines([{ username: 'alice', identities }])
    const { code, out, said } = await importLines([{ username: 'bob' }, { username: 'carol', identities }])
    expect([code, JSON.parse(out).created]).toEqual([4, 1])
    expect(said).toMatch(/^line 2: the identity 1 of https:\/\/id\.example is linked to another user/)
  })

  test('a line without end, and a file that does not exist', async () => {
    const { code, said } = await importLines(['x'.repeat(300_000)])
    expect([code, said]).toEqual([2, expect.stringContaining('line 1 is too long')])
    const missing = await runCommand(server.database, ['users', 'import', path.join(directory, 'missing')])
    expect([missing.code, missing.said]).toEqual([2, expect.stringContaining('cannot be read')])
  })
})
