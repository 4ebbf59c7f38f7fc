import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createIdentityRebindingStore } from '../../../../src/features/foreign-sign-in/identities/identity-rebinding-store.js'
import { lastChangeIn } from '../../../support/administration.js'
import { NOTE } from '../../../support/audit-note.js'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'
import { PASSWORD } from '../../../support/flow.js'
import { insertIdentity, LOGIN_ISSUER } from '../../../support/handoff.js'

describe('users rebind', () => {
  let server: TestServer
  let directory: string
  const ids: Record<string, string> = {}

  beforeAll(async () => {
    server = await startTestServer()
    directory = await mkdtemp(path.join(tmpdir(), 'valetkey-rebind-'))
    for (const name of ['a', 'b', 'c']) ids[name] = await server.createUser(name, PASSWORD)
  })
  beforeEach(async () => {
    await server.database.query({ name: 'test_no_identities', text: 'delete from identities', values: [] })
    for (const name of ['a', 'b', 'c']) await insertIdentity(server, ids[name] ?? '', name)
  })
  afterAll(async () => {
    await server.close()
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
