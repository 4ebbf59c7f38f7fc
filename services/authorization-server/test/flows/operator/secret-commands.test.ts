import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken, isWellFormed, secretIdOf } from '@valetkey/oauth-protocol'
import { changesIn, lastChangeIn } from '../../support/administration.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { stopClock } from '../../support/clock.js'
import { OPERATOR, runCommand } from '../../support/command-line.js'
import { exchange } from '../../support/flow.js'

const actor = { kind: 'command_line', name: OPERATOR }
const clock = stopClock()
let server: TestServer

beforeAll(async () => {
  server = await startTestServer({ LIMITS_FACTOR: '100' })
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

describe('secrets of clients', () => {
  const DAY = 86_400
  let old: Credentials
  let id: string
  beforeEach(async () => {
    old = await server.createClient()
    id = old.clientId
    clock.advance(1)
  })

  const clients = (...args: string[]) => runCommand(server.database, ['clients', ...args])
  const idOf = ({ clientSecret }: Credentials) => secretIdOf(hashToken(clientSecret))
  const works = async (credentials: Credentials) => (await exchange(server, credentials, 'vk_ac_x')).statusCode === 400
  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
  const secrets = async () => JSON.parse((await clients('secrets', id, '--json')).out).secrets

  async function rotate(...args: string[]): Promise<Credentials & { document: Record<string, unknown> }> {
    const { code, out, said } = await clients('rotate-secret', id, ...args, '--json')
    expect([code, said]).toEqual([0, ''])
    const document = JSON.parse(out)
    return { clientId: id, clientSecret: document.client_secret, document }
  }

  describe('clients secrets without a client', () => {
    test('lists the valid secrets of all clients, in pages', async () => {
      const other = await server.createClient({ name: 'Album' })
      await exchange(server, other, 'vk_ac_x')
      await server.createClient({ type: 'public' })
      await rotate('--now', '--yes')
      const { code, out } = await clients('secrets', '--json')
      const found: { client_id: string; secret_id: string; live: boolean; client_name: string }[] =
        JSON.parse(out).secrets
      expect(code).toBe(0)
      const places = found.map((secret) => [secret.client_id, secret.secret_id])
      expect(places).toEqual(places.toSorted())
      const [current] = (await secrets()).filter(({ live }: { live: boolean }) => live)
      expect(found).toContainEqual({ client_id: id, client_name: expect.any(String), ...current })
      expect(found).toContainEqual(
        expect.objectContaining({ client_id: other.clientId, client_name: 'Album', secret_id: idOf(other), live: true })
      )
      expect(found.map(({ secret_id }) => secret_id)).not.toContain(idOf(old))
      const first = await clients('secrets', '--limit', '1')
      expect(first.said).toBe('There are more than 1 secrets: name a client, or raise --limit.\n')
      expect(first.out.trim().split('\n')).toHaveLength(2)
    })
  })

  describe('clients rotate-secret', () => {
    test('both secrets are valid for seven days, then only the new one', async () => {
      const fresh = await rotate()
      expect(isWellFormed('clientSecret', fresh.clientSecret)).toBe(true)
      expect(fresh.document).toEqual({
        client_id: id,
        client_secret: fresh.clientSecret,
        secret_id: idOf(fresh),
        old: [{ secret_id: idOf(old), live: true, created_at: inSeconds(-1), expires_at: inSeconds(7 * DAY) }]
      })
      expect([await works(old), await works(fresh)]).toEqual([true, true])
      clock.advance(7 * DAY - 1)
      expect([await works(old), await works(fresh)]).toEqual([true, true])
      clock.advance(1)
      expect([await works(old), await works(fresh)]).toEqual([false, true])
      expect(await secrets()).toMatchObject([{ live: false }, { live: true }])
    })

    test.each([
      { given: '90', seconds: 90 },
      { given: '15m', seconds: 900 },
      { given: '12h', seconds: 43_200 },
      { given: '90d', seconds: 90 * DAY }
    ])('--keep-old-for $given', async ({ given, seconds }) => {
      await rotate('--keep-old-for', given)
      expect((await secrets())[0].expires_at).toBe(inSeconds(seconds))
    })

    test('--now ends all old secrets immediately', async () => {
      const second = await rotate()
      const third = await rotate('--now', '--yes')
      expect([await works(old), await works(second), await works(third)]).toEqual([false, false, true])
    })

    test('a third live secret is a conflict (4) that names both; after one has ended, it is created', async () => {
      const second = await rotate()
      const { code, out, said } = await clients('rotate-secret', id, '--json')
      expect([code, out]).toEqual([4, ''])
      for (const word of [idOf(old), inSeconds(7 * DAY), idOf(second), 'delete the old one'])
        expect(said).toContain(word)
      clock.advance(7 * DAY)
      const third = await rotate()
      expect([await works(second), await works(third)]).toEqual([true, true])
      expect((await secrets()).map((secret: { secret_id: string }) => secret.secret_id)).toEqual([
        idOf(second),
        idOf(third)
      ])
    })

    test('rotation does not postpone an earlier expiry', async () => {
      await rotate('--keep-old-for', '60')
      clock.advance(30)
      await clients('delete-secret', id, (await secrets())[1].secret_id, '--yes')
      const [before] = await secrets()
      await rotate()
      expect((await secrets())[0].expires_at).toBe(before.expires_at)
    })

    test('two concurrent rotations create one secret, so at most two are live', async () => {
      const results = await Promise.all([1, 2, 3, 4].map(() => clients('rotate-secret', id, '--json')))
      expect(results.map(({ code }) => code).toSorted()).toEqual([0, 4, 4, 4])
      expect(await secrets()).toHaveLength(2)
      const events = (await changesIn(server)).filter((event) => event.client_id === id)
      expect(events.map(({ event }) => event)).toEqual(['client_secret_rotated'])
    })

    test('is audited with both ids and the expiry of the old secret, without secret or hash', async () => {
      const fresh = await rotate()
      const entry = await lastChangeIn(server)
      expect(entry).toMatchObject({
        event: 'client_secret_rotated',
        client_id: id,
        details: { actor, secretId: idOf(fresh), old: [{ secretId: idOf(old), expiresAt: inSeconds(7 * DAY) }] }
      })
      const written = JSON.stringify(entry)
      for (const { clientSecret } of [old, fresh]) {
        expect(written).not.toContain(clientSecret)
        expect(written).not.toContain(hashToken(clientSecret).toString('hex').slice(12))
      }
    })

    test.each([
      { name: 'not a duration', args: ['--keep-old-for', 'long'] },
      { name: 'a negative duration', args: ['--keep-old-for', '-1'] },
      { name: 'over 90 days', args: ['--keep-old-for', '91d'] },
      { name: 'both --now and --keep-old-for', args: ['--keep-old-for', '60', '--now'] },
      { name: '--now without a terminal and without --yes', args: ['--now'] },
      { name: '--keep-old-for 0 without --yes', args: ['--keep-old-for', '0'] }
    ])('$name is wrong usage (2), and creates nothing', async ({ args }) => {
      expect((await clients('rotate-secret', id, ...args)).code).toBe(2)
      expect(await secrets()).toHaveLength(1)
    })

    test('a public client is a conflict (4), an unknown client 3', async () => {
      const { clientId } = await server.createClient({ type: 'public', requiresPkce: true })
      expect((await clients('rotate-secret', clientId)).code).toBe(4)
      expect((await clients('rotate-secret', 'unknown')).code).toBe(3)
      expect((await clients('secrets', 'unknown')).code).toBe(3)
    })

    test('without --json: the secret, its id, and the expiry of the old one', async () => {
      const { out } = await clients('rotate-secret', id)
      expect(out).toMatch(
        /^client secret: vk_cs_\w{49}\nIt is shown only once\.\nsecret id: {5}[0-9a-f]{12}\nold secret: {4}[0-9a-f]{12} ends at \S+Z\n$/
      )
      expect((await clients('secrets', id)).out).toMatch(/^SECRET ID +STATE +CREATED +ENDS +LAST USED\n/)
    })
  })

  describe('clients delete-secret', () => {
    test('ends the secret immediately and is audited', async () => {
      const fresh = await rotate()
      const { code, out } = await clients('delete-secret', id, idOf(old), '--yes', '--json')
      expect([code, JSON.parse(out)]).toMatchObject([0, { secret_id: idOf(old), live: false }])
      expect([await works(old), await works(fresh)]).toEqual([false, true])
      expect(await lastChangeIn(server)).toMatchObject({
        event: 'client_secret_deleted',
        client_id: id,
        details: { actor, secretId: idOf(old) }
      })
    })

    test('the only live secret is a conflict (4) and stays valid; an ended one can be deleted', async () => {
      const { code, said } = await clients('delete-secret', id, idOf(old), '--yes')
      expect([code, said]).toEqual([4, expect.stringContaining('only live secret')])
      expect(await works(old)).toBe(true)
      const fresh = await rotate('--now', '--yes')
      expect((await clients('delete-secret', id, idOf(fresh), '--yes')).code).toBe(4)
      expect((await clients('delete-secret', id, idOf(old), '--yes')).code).toBe(0)
    })

    test('deleting the new secret reports the expiry of the remaining one', async () => {
      const fresh = await rotate()
      const { said } = await clients('delete-secret', id, idOf(fresh), '--yes')
      expect(said).toContain(`ends at ${inSeconds(7 * DAY)}`)
      const again = await rotate()
      expect((await clients('delete-secret', id, idOf(old), '--yes')).said).not.toContain('ends at')
      expect(await works(again)).toBe(true)
    })

    test('two concurrent deletions of both secrets: one remains', async () => {
      const fresh = await rotate()
      const remove = (credentials: Credentials) => clients('delete-secret', id, idOf(credentials), '--yes')
      const codes = (await Promise.all([remove(old), remove(fresh)])).map(({ code }) => code)
      expect(codes.toSorted()).toEqual([0, 4])
      expect(await secrets()).toHaveLength(1)
    })

    test('requires confirmation (without a terminal 2); an unknown secret is 3', async () => {
      await rotate()
      expect((await clients('delete-secret', id, idOf(old))).code).toBe(2)
      expect(
        (await runCommand(server.database, ['clients', 'delete-secret', id, idOf(old)], { answer: false })).code
      ).toBe(1)
      expect((await clients('delete-secret', id, '000000000000', '--yes')).code).toBe(3)
      expect(await works(old)).toBe(true)
    })
  })
})

describe('operator keys', () => {
  // The list is in the order of creation.
  beforeEach(() => clock.advance(1))

  const keys = (...args: string[]) => runCommand(server.database, ['operator-keys', ...args])
  const make = async (name: string) => JSON.parse((await keys('create', '--name', name, '--json')).out)
  const opens = async (key: string) => {
    const request = { url: '/admin/operator-keys', headers: { authorization: `Bearer ${key}` } }
    return (await server.operatorServer.inject(request)).statusCode === 200
  }

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
    expect(out).toMatch(
      /^OPERATOR KEY ID +NAME +MAY +STATE +LAST USED\n[0-9a-f-]{36} +ci +everything +live +\d{4}-\S+Z\n/
    )
    expect(out).toMatch(/to be revoked +everything +revoked/)
  })
})
