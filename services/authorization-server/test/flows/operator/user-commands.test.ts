import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { canonicalName } from '@valetkey/sign-in-rules'
import { verifyPassword } from '../../../src/platform/passwords/password.js'
import { createUserStore } from '../../../src/storage/postgres/users.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
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
