import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { changesIn, lastChangeIn } from '../../support/administration.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { OPERATOR, runCommand } from '../../support/command-line.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const keys = (...args: string[]) => runCommand(server.database, ['operator-keys', ...args])
const make = async (name: string) => JSON.parse((await keys('create', '--name', name, '--json')).out)
const opens = async (key: string) => {
  const request = { url: '/admin/operator-keys', headers: { authorization: `Bearer ${key}` } }
  return (await server.operatorServer.inject(request)).statusCode === 200
}
const actor = { kind: 'command_line', name: OPERATOR }

describe('operator-keys create (contract 5)', () => {
  test('--json prints one document with an id and a valid key', async () => {
    const { code, out, said } = await keys('create', '--name', 'ci', '--json')
    expect([code, said]).toEqual([0, ''])
    const made = JSON.parse(out)
    expect(made).toEqual({
      operator_key_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      operator_key: expect.stringMatching(/^vk_ok_[0-9A-Za-z]{49}$/)
    })
    expect(await opens(made.operator_key)).toBe(true)
    expect(await lastChangeIn(server)).toEqual({
      event: 'operator_key_created',
      request_id: null,
      client_id: null,
      user_id: null,
      address: null,
      details: { operatorKeyId: made.operator_key_id, name: 'ci', actor }
    })
  })

  test('without --json: text with the key, which is shown once', async () => {
    const { out } = await keys('create', '--name', ' people ')
    expect(out).toMatch(/^Created operator key people\n.*\noperator key: {4}vk_ok_\w{49}\nIt is shown .*\n$/)
    expect((await keys('list', '--json')).out).not.toContain('vk_ok_')
  })

  test('the name of a live key is a conflict (4), and nothing is created or audited', async () => {
    const before = await changesIn(server)
    const { code, out, said } = await keys('create', '--name', 'ci')
    expect([code, out, said]).toEqual([4, '', 'an operator key named ci exists already'])
    expect(await changesIn(server)).toEqual(before)
  })

  test.each(['', '  ', 'x'.repeat(101), 'two\nlines', 'turned\u202eround'])(
    'the name %j is wrong usage (2)',
    async (name) => {
      expect((await keys('create', '--name', name)).code).toBe(2)
    }
  )
})

describe('operator-keys revoke', () => {
  test('--yes: the key is refused from then on; a second revocation changes nothing', async () => {
    const made = await make('to be revoked')
    const { code, out } = await keys('revoke', made.operator_key_id, '--yes', '--json')
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ revoked_at: expect.any(String) })])
    expect(await opens(made.operator_key)).toBe(false)
    const details = { operatorKeyId: made.operator_key_id, name: 'to be revoked', actor }
    expect(await lastChangeIn(server)).toMatchObject({ event: 'operator_key_revoked', details })
    const entries = await changesIn(server)
    expect((await keys('revoke', made.operator_key_id, '--yes')).code).toBe(0)
    expect(await changesIn(server)).toEqual(entries)
  })

  test('revokes the keys created with it and reports their number', async () => {
    const made = await make('parent')
    const headers = { authorization: `Bearer ${made.operator_key}` }
    const post = { method: 'POST', url: '/admin/operator-keys', headers, payload: { name: 'child' } } as const
    const child = (await server.operatorServer.inject(post)).json()
    const { out } = await keys('revoke', made.operator_key_id, '--yes')
    expect(out).toBe('Revoked operator key parent\nAlso revoked 1 created with it\n')
    expect(await opens(child.operator_key)).toBe(false)
  })

  test('requires confirmation: No changes nothing (1), without a terminal 2', async () => {
    const made = await make('kept')
    const args = ['operator-keys', 'revoke', made.operator_key_id]
    const refused = await runCommand(server.database, args, { answer: false })
    expect([refused.code, refused.said]).toEqual([1, expect.stringContaining('nothing was changed')])
    expect((await keys('revoke', made.operator_key_id)).code).toBe(2)
    expect(await opens(made.operator_key)).toBe(true)
    expect((await runCommand(server.database, args, { answer: true })).code).toBe(0)
    expect(await opens(made.operator_key)).toBe(false)
  })

  test.each([randomUUID(), 'no-id'])('the unknown id %s is 3', async (id) => {
    const { code, said } = await keys('revoke', id, '--yes')
    expect([code, said]).toEqual([3, `there is no operator key ${id}`])
  })
})

test('operator-keys list: a table with state and last use', async () => {
  const { out } = await keys('list')
  expect(out).toMatch(/^OPERATOR KEY ID +NAME +STATE +LAST USED\n[0-9a-f-]{36} +ci +live +\d{4}-\S+Z\n/)
  expect(out).toMatch(/to be revoked +revoked/)
})
