import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { canonicalName } from '@valetkey/sign-in-rules'
import { createIdentityRebindingStore } from '../../../src/features/foreign-sign-in/identities/identity-rebinding-store.js'
import { verifyPassword } from '../../../src/platform/passwords/password.js'
import { createUserStore } from '../../../src/storage/postgres/users.js'
import { lastChangeIn } from '../../support/administration.js'
import { NOTE } from '../../support/audit-note.js'
import { ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { OPERATOR, runCommand } from '../../support/command-line.js'
import { PASSWORD } from '../../support/flow.js'
import { HANDOFF, insertIdentity, LOGIN_ISSUER, passHandoff } from '../../support/handoff.js'
import { signInWithPasskey, userWithPasskey } from '../../support/passkeys.js'
import { serverWithUser } from '../../support/server-with-user.js'
import { attemptSignIn } from '../../support/sign-in.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

describe('users', () => {
  const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

  const create = (username: string, stdin: string | Buffer = 'a password of words', ...more: string[]) =>
    runCommand(server.database, ['users', 'create', username, '--password-stdin', ...more], { stdin })

  const findHash = async (username: string) =>
    (await createUserStore(server.database).findWithPassword(canonicalName(username)))?.passwordHash ?? ''

  describe('users create', () => {
    test('--json prints one document with id and name, and nothing else', async () => {
      const { code, out, said } = await create('alice', 'correct horse stable', '--json')
      expect([code, said]).toEqual([0, ''])
      expect(JSON.parse(out)).toEqual({ user_id: expect.stringMatching(UUID), username: 'alice' })
      expect((await attemptSignIn(server, { username: 'alice', password: 'correct horse stable' })).statusCode).toBe(
        303
      )
    })

    test('without --json: text without the password', async () => {
      const { code, out } = await create('bob', 'battery staple wire')
      expect([code, out]).toEqual([0, expect.stringMatching(/^Created user bob\nuser id: [0-9a-f-]{36}\n$/)])
      expect(out).not.toContain('battery')
    })

    test.each([
      { name: 'nothing', sent: 'a secret of words', password: 'a secret of words' },
      { name: 'a line break', sent: 'a secret of words\n', password: 'a secret of words' },
      { name: 'CRLF', sent: 'a secret of words\r\n', password: 'a secret of words' },
      { name: 'blanks', sent: '  a secret of words  ', password: '  a secret of words  ' },
      { name: 'characters beyond ASCII', sent: 'Schlüssel zur Tür 🔑\n', password: 'Schlüssel zur Tür 🔑' }
    ])('the password is read to the end without one trailing line break: $name', async ({ name, sent, password }) => {
      expect((await create(`user of ${name}`, sent)).code).toBe(0)
      const hash = await findHash(`user of ${name}`)
      expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
      expect(await verifyPassword(hash, password)).toBe(true)
      if (sent !== password) expect(await verifyPassword(hash, sent)).toBe(false)
    })

    test.each([
      { name: 'no password', stdin: '' },
      { name: 'a line break only', stdin: '\n' },
      { name: 'a second line break', stdin: 'a secret of words\n\n' },
      { name: 'a carriage return', stdin: 'a secret of words\r' },
      { name: 'two lines', stdin: 'secret of\nmany words' },
      { name: 'a tab', stdin: 'secret of\tmany words' },
      { name: 'NUL', stdin: 'secret of\0many words' },
      { name: 'a password over 1024 bytes', stdin: 'ü'.repeat(513) },
      { name: 'a password over 64 KiB', stdin: 'x'.repeat(70_000) }
    ])('$name is wrong usage (2)', async ({ stdin }) => {
      const { code, out, said } = await create('unknown', stdin)
      expect([code, out]).toEqual([2, ''])
      expect(said).toMatch(/password/)
      expect(await findHash('unknown')).toBe('')
    })

    test.each([
      { name: 'too short', stdin: 'fourteen chars', said: /at least 15 characters/ },
      { name: 'a sequence', stdin: 'abcdefghijklmno', said: /sequence/ },
      { name: 'a repetition', stdin: 'xk7xk7xk7xk7xk7x', said: /repeats/ },
      { name: 'a common one', stdin: '1qaz2wsx3edc4rfv', said: /common/ },
      { name: 'the name of the product', stdin: 'valetkey valetkey-1', said: /product name/ }
    ])('a password that is $name is wrong usage (2)', async ({ stdin, said }) => {
      const result = await create('unknown', stdin)
      expect([result.code, result.said]).toEqual([2, expect.stringMatching(said)])
      expect(await findHash('unknown')).toBe('')
    })

    test('PASSWORD_MIN_LENGTH lowers the limit', async () => {
      const args = ['users', 'create', 'short', '--password-stdin']
      const environment = { PASSWORD_MIN_LENGTH: '8' }
      expect((await runCommand(server.database, args, { stdin: 'wet wall', environment })).code).toBe(0)
    })

    test.each(['', '   ', 'x'.repeat(101), 'two\nlines', 'bell\u0007'])(
      'the name %j is wrong usage (2)',
      async (username) => {
        const { code, said } = await create(username)
        expect([code, said]).toEqual([2, expect.stringContaining('user name')])
      }
    )

    test('an existing name in any Unicode form is a conflict (4) and changes nothing', async () => {
      expect((await create('zo\u00eb', 'first of all passwords')).code).toBe(0)
      for (const username of ['zo\u00eb', ' zo\u00eb ', 'zoe\u0308']) {
        const { code, out, said } = await create(username, 'second of all passwords')
        expect([code, out]).toEqual([4, ''])
        expect(said).toBe('user zo\u00eb exists already')
      }
      expect(await verifyPassword(await findHash('zo\u00eb'), 'first of all passwords')).toBe(true)
    })

    test('a password on the command line is not an option', async () => {
      const args = ['users', 'create', 'carol', '--password', 'a secret of words']
      expect((await runCommand(server.database, args)).code).toBe(2)
    })
  })

  describe('users show', () => {
    test('by id or name: the members of --json, one on a line; --id prints the id alone', async () => {
      const { user_id: id } = JSON.parse((await create('zoë quinn', undefined, '--json')).out)
      const show = async (...args: string[]) => (await runCommand(server.database, ['users', 'show', ...args])).out
      expect(await show('zoë quinn', '--id')).toBe(`${id}\n`)
      const document = JSON.parse(await show(id, '--json'))
      expect(document).toMatchObject({ user_id: id, username: 'zoë quinn', disabled: false })
      expect(await show('zoë quinn')).toBe(
        `user_id: ${id}\nusername: zoë quinn\ndisabled: false\ncreated_at: ${document.created_at}\n`
      )
    })

    test('nothing on standard output for an unknown user, so that --owner "$(…)" is refused', async () => {
      const { code, out, said } = await runCommand(server.database, ['users', 'show', 'unknown', '--id'])
      expect([code, out, said]).toEqual([3, '', 'there is no user unknown'])
    })
  })

  describe('users list', () => {
    test('--json prints id, name, state and time of each user by name, without the hash', async () => {
      const { code, out } = await runCommand(server.database, ['users', 'list', '--json'])
      const { users } = JSON.parse(out)
      expect(code).toBe(0)
      expect(users.map(({ username }: { username: string }) => username).slice(0, 2)).toEqual(['alice', 'bob'])
      expect(users[0]).toEqual({
        user_id: expect.stringMatching(UUID),
        username: 'alice',
        disabled: false,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        last_signed_in_at: expect.any(String)
      })
      expect(out).not.toContain('argon2')
    })

    test('without --json: a table', async () => {
      const { out } = await runCommand(server.database, ['users', 'list'])
      const [header, first] = out.split('\n')
      expect(header).toMatch(/^USER ID +USER NAME +STATE$/)
      expect(first).toMatch(/^[0-9a-f-]{36} +alice +enabled$/)
    })
  })
})

describe('passkeys', () => {
  const users = (...args: string[]) => runCommand(server.database, ['users', ...args])

  test('users passkeys lists names and times, never keys', async () => {
    await server.createUser('paula', PASSWORD)
    expect((await users('passkeys', 'paula')).out).toBe('User paula has no passkeys.\n')
    const { authenticator } = await userWithPasskey(server, 'paula')
    expect((await users('passkeys', 'paula')).out).toMatch(/^\d{4}-.*Z {2}Laptop\n$/)
    const [passkey, ...others] = JSON.parse((await users('passkeys', 'paula', '--json')).out).passkeys
    expect(others).toEqual([])
    expect(passkey).toEqual({
      passkey_id: authenticator.id,
      name: 'Laptop',
      synced: false,
      created_at: expect.any(String)
    })
  })

  test('users remove-passkeys removes all passkeys of the user, ends sessions, and is recorded; again it changes nothing', async () => {
    const userId = await server.createUser('peter', PASSWORD)
    await server.createUser('petra', PASSWORD)
    const { browser, authenticator } = await userWithPasskey(server, 'peter')
    const carol = await userWithPasskey(server, 'petra')
    expect((await users('remove-passkeys', 'peter')).code).toBe(2)
    const { code, out } = await users('remove-passkeys', 'peter', '--yes', '--json')
    expect([code, JSON.parse(out)]).toEqual([0, { user_id: userId, removed: 1 }])
    expect((await browser.get(`${ISSUER}/account/apps`)).statusCode).toBe(303)
    expect((await signInWithPasskey(server.newBrowser(), authenticator)).statusCode).toBe(422)
    expect((await signInWithPasskey(server.newBrowser(), carol.authenticator)).statusCode).toBe(200)
    const actor = { kind: 'command_line', name: OPERATOR }
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'user_passkeys_removed',
      details: { actor, username: 'peter' }
    })
    expect((await users('remove-passkeys', 'peter', '--yes')).out).toBe('Removed 0 passkeys of user peter\n')
  })
})

describe('identities', () => {
  const world = serverWithUser(HANDOFF)

  const users = (...args: string[]) => runCommand(world.server.database, ['users', ...args])
  const identity = () => ['--issuer', LOGIN_ISSUER, '--subject', world.subject]

  describe('users link', () => {
    test('lets the identity sign in, is audited, and says the same a second time', async () => {
      const first = await users('link', world.username, ...identity(), '--json')
      expect(first.code).toBe(0)
      expect(JSON.parse(first.out)).toMatchObject({
        issuer: LOGIN_ISSUER,
        subject: world.subject,
        user_id: world.userId
      })
      expect(await lastChangeIn(world.server)).toMatchObject({
        event: 'identity_linked',
        user_id: world.userId,
        details: {
          username: world.username,
          issuer: LOGIN_ISSUER,
          subject: world.subject,
          actor: { kind: 'command_line', name: OPERATOR }
        }
      })
      expect(await users('link', world.userId, ...identity(), '--json')).toEqual(first)
      expect((await passHandoff(world.server.newBrowser(), { sub: world.subject })).url).toBe(`${ISSUER}/account/apps`)
    })

    test('refuses an identity of another user without naming the user', async () => {
      await insertIdentity(
        world.server,
        await world.server.createUser(`${world.username}-owner`, PASSWORD),
        world.subject
      )
      const { code, said } = await users('link', world.username, ...identity())
      expect([code, said]).toEqual([4, 'the identity is linked to another user'])
    })

    test.each([
      { name: 'no subject', args: ['--issuer', LOGIN_ISSUER], code: 2 },
      { name: 'an empty subject', args: ['--issuer', LOGIN_ISSUER, '--subject', ''], code: 2 },
      { name: 'a subject with a line break', args: ['--issuer', LOGIN_ISSUER, '--subject', 'a\nb'], code: 2 }
    ])('with $name is refused', async ({ args, code }) => {
      expect((await users('link', world.username, ...args)).code).toBe(code)
    })

    test('to an unknown user is refused', async () => {
      expect((await users('link', 'unknown-user', ...identity())).code).toBe(3)
    })
  })

  describe('users unlink', () => {
    test('asks, unlinks the identity, and ends the sessions', async () => {
      await insertIdentity(world.server, world.userId, world.subject)
      const browser = world.server.newBrowser()
      await passHandoff(browser, { sub: world.subject })
      expect((await users('unlink', world.username, ...identity())).code).toBe(2)
      expect((await users('unlink', world.username, ...identity(), '--yes')).out).toContain(`Unlinked ${world.subject}`)
      expect((await browser.get(`${ISSUER}/account/apps`)).statusCode).toBe(303)
      expect(await lastChangeIn(world.server)).toMatchObject({ event: 'identity_unlinked', user_id: world.userId })
      expect((await users('unlink', world.username, ...identity(), '--yes')).code).toBe(3)
    })

    test('of an identity of another user is not found', async () => {
      await insertIdentity(
        world.server,
        await world.server.createUser(`${world.username}-owner`, PASSWORD),
        world.subject
      )
      expect((await users('unlink', world.username, ...identity(), '--yes')).code).toBe(3)
    })
  })

  test('users identities lists them, with the last use', async () => {
    expect((await users('identities', world.username)).out).toContain('has no identities')
    await insertIdentity(world.server, world.userId, world.subject)
    expect((await users('identities', world.username)).out).toMatch(
      new RegExp(`${LOGIN_ISSUER} +${world.subject} +never`)
    )
    await passHandoff(world.server.newBrowser(), { sub: world.subject })
    const { out } = await users('identities', world.username, '--json')
    expect(JSON.parse(out).identities).toMatchObject([
      { issuer: LOGIN_ISSUER, subject: world.subject, last_used_at: expect.any(String) }
    ])
  })

  describe('users disable with an identity, for scripts', () => {
    test('disables the user, and says the same a second time', async () => {
      await insertIdentity(world.server, world.userId, world.subject)
      const first = await users('disable', ...identity(), '--yes', '--json')
      expect(JSON.parse(first.out)).toMatchObject({ user_id: world.userId, disabled: true })
      expect(await users('disable', ...identity(), '--yes', '--json')).toEqual(first)
    })

    test.each([
      { name: 'an unknown identity', args: () => identity(), code: 3 },
      { name: 'an issuer alone', args: () => ['--issuer', LOGIN_ISSUER], code: 2 },
      { name: 'a user and an identity', args: () => [world.username, ...identity()], code: 2 },
      { name: 'nothing', args: () => [], code: 2 }
    ])('with $name disables no user', async ({ args, code }) => {
      expect((await users('disable', ...args(), '--yes')).code).toBe(code)
      const { out } = await users('list', '--json')
      expect(
        JSON.parse(out).users.find((each: { username: string }) => each.username === world.username)
      ).toMatchObject({
        disabled: false
      })
    })
  })
})

describe('users rebind', () => {
  let directory: string
  const ids: Record<string, string> = {}

  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'valetkey-rebind-'))
    for (const name of ['a', 'b', 'c']) ids[name] = await server.createUser(name, PASSWORD)
  })
  beforeEach(async () => {
    await server.database.query({ name: 'test_no_identities', text: 'delete from identities', values: [] })
    for (const name of ['a', 'b', 'c']) await insertIdentity(server, ids[name] ?? '', name)
  })
  afterAll(async () => {
    await rm(directory, { recursive: true })
  })

  async function rebindBytes(bytes: string | Buffer, ...options: string[]) {
    const file = path.join(directory, 'file.ndjson')
    await writeFile(file, bytes)
    return runCommand(server.database, ['users', 'rebind', '--issuer', LOGIN_ISSUER, file, ...options])
  }

  async function rebind(lines: readonly (object | string)[], ...options: string[]) {
    return rebindBytes(
      lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
      ...options
    )
  }

  /** `issuer subject` of each user. */
  async function state(): Promise<Record<string, string>> {
    const rows = await server.database.query<{ username: string; identity: string }>({
      name: 'test_identities',
      text: `select username, issuer || ' ' || subject as identity from identities join users using (user_id)`,
      values: []
    })
    return Object.fromEntries(rows.map(({ username, identity }) => [username, identity]))
  }
  const at = (issuer: string, a: string, b: string, c: string) => ({
    a: `${issuer} ${a}`,
    b: `${issuer} ${b}`,
    c: `${issuer} ${c}`
  })
  const UNCHANGED = at(LOGIN_ISSUER, 'a', 'b', 'c')

  test('without --yes it only says what would change', async () => {
    const { code, out } = await rebind([{ from: 'a', to: 'x' }])
    expect([code, await state()]).toEqual([0, UNCHANGED])
    expect(out).toContain('Would change 1 identities')
    expect(out).toContain('not in the file: 2')
    expect(out).toContain('pass --yes')
  })

  test('with --yes it changes all, also if they exchange their subjects, and writes one audit event', async () => {
    const lines = [{ from: 'a', to: 'b' }, { from: 'b', to: 'a' }, '', { from: 'c', to: 'new' }]
    const { code, out } = await rebind(lines, '--yes', '--json')
    expect([code, JSON.parse(out)]).toEqual([0, { rebound: 3, skipped: 0, not_in_file: 0, applied: true }])
    expect(await state()).toEqual(at(LOGIN_ISSUER, 'b', 'a', 'new'))
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'identities_rebound',
      details: { issuer: LOGIN_ISSUER, count: 3 }
    })
  })

  test('a byte order mark is no part of the first line; another encoding is refused (2)', async () => {
    expect((await rebindBytes('\uFEFF{"from":"a","to":"é"}', '--yes')).code).toBe(0)
    expect(await state()).toEqual(at(LOGIN_ISSUER, 'é', 'b', 'c'))
    const { code, said } = await rebindBytes(Buffer.from('{"from":"b","to":"é"}', 'latin1'), '--yes')
    expect([code, said]).toEqual([2, expect.stringMatching(/is not UTF-8 but ISO-8859-1/)])
  })

  test('can also give a new issuer', async () => {
    const lines = ['a', 'b', 'c'].map((name) => ({ from: name, to: name }))
    expect((await rebind(lines, '--new-issuer', 'https://new.example', '--yes')).code).toBe(0)
    expect(await state()).toEqual(at('https://new.example', 'a', 'b', 'c'))
  })

  test('skips lines of a complete export with --skip-unknown', async () => {
    const { code, out } = await rebind(
      [
        { from: 'a', to: 'x' },
        { from: 'stranger', to: 'y' }
      ],
      '--skip-unknown',
      '--yes'
    )
    expect([code, await state()]).toEqual([0, at(LOGIN_ISSUER, 'x', 'b', 'c')])
    expect(out).toContain('Skipped lines: 1')
  })

  test.each<{ name: string; lines: (object | string)[]; said: string[]; code: number }>([
    { name: 'no JSON', lines: [{ from: 'a', to: 'x' }, 'from,to'], said: ['line 2: is not JSON'], code: 2 },
    { name: 'a missing member', lines: [{ from: 'a' }], said: ['line 1: needs "from" and "to"'], code: 2 },
    { name: 'a number', lines: [{ from: 1, to: 'x' }], said: ['line 1: needs "from" and "to"'], code: 2 },
    {
      name: 'an unknown member',
      lines: [{ from: 'a', to: 'x', mail: 'y' }],
      said: ['line 1: has a member "mail"'],
      code: 2
    },
    { name: 'an empty subject', lines: [{ from: 'a', to: '' }], said: ['line 1: "to": the subject must'], code: 2 },
    {
      name: 'repeated subjects',
      lines: [
        { from: 'a', to: 'x' },
        { from: 'a', to: 'y' },
        { from: 'b', to: 'x' }
      ],
      said: ['line 2: "from" is that of line 1', 'line 3: "to" is that of line 1'],
      code: 2
    },
    { name: 'no lines', lines: [''], said: ['the file has no lines'], code: 2 },
    {
      name: 'an unknown identity',
      lines: [{ from: 'z', to: 'x' }],
      said: ['line 1: no user is linked to "from"'],
      code: 4
    },
    {
      name: 'a linked identity',
      lines: [{ from: 'a', to: 'b' }],
      said: ['line 1: a user is linked to "to" already'],
      code: 4
    }
  ])('refuses a file with $name, changes nothing and names the lines', async ({ lines, said, code }) => {
    const result = await rebind(lines, '--yes')
    expect([result.code, await state()]).toEqual([code, UNCHANGED])
    for (const each of said) expect(result.said).toContain(each)
  })

  test('a file that cannot be read is refused', async () => {
    const { code, said } = await runCommand(server.database, [
      'users',
      'rebind',
      '--issuer',
      LOGIN_ISSUER,
      '/no/such/file'
    ])
    expect(code).toBe(2)
    expect(said).toContain('cannot be read')
  })

  test.each([
    {
      name: 'was unlinked',
      lines: [
        { from: 'a', to: 'x' },
        { from: 'gone', to: 'y' }
      ]
    },
    { name: 'was linked', lines: [{ from: 'a', to: 'b' }] }
  ])('changes nothing if an identity $name between plan and change', async ({ lines }) => {
    const store = createIdentityRebindingStore(server.database)
    expect(await store.rebind(lines, { issuer: LOGIN_ISSUER, newIssuer: LOGIN_ISSUER }, NOTE)).toBe(false)
    expect(await state()).toEqual(UNCHANGED)
  })
})
