import { randomBytes } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken, newOpaqueToken } from '@valetkey/oauth-protocol'
import { reportedTokenLimit } from '../../../../src/platform/rate-limits/rules.js'
import { lastChangeIn } from '../../../support/administration.js'
import { collectAuditLog } from '../../../support/audit-log.js'
import type { Credentials } from '../../../support/authorization-server.js'
import { OPERATOR, runCommand } from '../../../support/command-line.js'
import { clearCounters, setCounter } from '../../../support/counters.js'
import { exchange, obtainCode, refresh } from '../../../support/flow.js'
import { serverWithUser } from '../../../support/server-with-user.js'
import { isActive, pairOf, type Tokens } from '../../../support/tokens.js'

const { logger, eventsOf } = collectAuditLog()
const PATH = '/tokens/leaked'

describe('leaked tokens', () => {
  const world = serverWithUser({}, logger)
  let client: Credentials
  let resourceServer: Credentials
  let tokens: Tokens
  let others: Tokens

  beforeAll(async () => {
    client = await world.server.createClient()
    resourceServer = await world.server.createResourceServer()
  })
  beforeEach(async () => {
    tokens = await obtain()
    others = await obtain()
  })

  const obtain = async () =>
    pairOf(await exchange(world.server, client, await obtainCode(world.server, client, { username: world.username })))
  const report = (value: string, body = new URLSearchParams({ tokens: value }).toString()) =>
    world.server.publicServer.inject({
      method: 'POST',
      url: PATH,
      payload: body,
      headers: { 'content-type': 'application/x-www-form-urlencoded' }
    })
  const isLive = (one: Tokens) => isActive(world.server, resourceServer, one.access_token)
  const unknown = () => newOpaqueToken('refreshToken', randomBytes)

  describe('POST /tokens/leaked', () => {
    test.each([
      { name: 'an access token', pick: async () => tokens.access_token },
      { name: 'a refresh token', pick: async () => tokens.refresh_token },
      {
        name: 'a rotated refresh token',
        pick: async () => {
          const rotated = tokens.refresh_token
          tokens = pairOf(await refresh(world.server, client, rotated))
          return rotated
        }
      }
    ])('$name ends its grant, and no other; the event names client, user and grant', async ({ pick }) => {
      const answer = await report(await pick())
      expect([answer.statusCode, answer.json(), answer.headers['cache-control']]).toEqual([202, {}, 'no-store'])
      expect(await isLive(tokens)).toBe(false)
      expect((await refresh(world.server, client, tokens.refresh_token)).json().error).toBe('invalid_grant')
      expect(await isLive(others)).toBe(true)
      expect(eventsOf(answer)).toMatchObject([
        { event: 'token_reported', clientId: client.clientId, userId: world.userId, grantId: expect.any(String) }
      ])
    })

    test('of many values, each live token ends its grant; two of one grant are one event', async () => {
      const values = [unknown(), tokens.access_token, 'junk', tokens.refresh_token, others.refresh_token]
      const answer = await report(values.join('  '))
      expect([answer.statusCode, eventsOf(answer).length]).toEqual([202, 2])
      expect([await isLive(tokens), await isLive(others)]).toEqual([false, false])
    })

    test('the response to unknown, wrong and ended values is the same, and ends nothing', async () => {
      const ended = tokens.access_token
      const first = await report(ended)
      for (const value of [unknown(), 'junk', `${others.access_token}x`, ended, client.clientSecret]) {
        const answer = await report(value)
        expect([answer.statusCode, answer.body, eventsOf(answer)]).toEqual([202, first.body, []])
      }
      expect(await isLive(others)).toBe(true)
    })

    test.each([
      { name: 'a revoked access token', table: 'access_tokens', change: 'revoked_at', token: 'access_token' },
      { name: 'an expired access token', table: 'access_tokens', change: 'expires_at', token: 'access_token' },
      { name: 'an expired refresh token', table: 'refresh_tokens', change: 'expires_at', token: 'refresh_token' }
    ] as const)('$name ends nothing', async ({ table, change, token }) => {
      await world.server.database.query({
        name: `test_${change}_of_${table}`,
        text: `update ${table} set ${change} = now() where token_hash = $1`,
        values: [hashToken(tokens[token])]
      })
      const answer = await report(tokens[token])
      expect([answer.statusCode, eventsOf(answer)]).toEqual([202, []])
    })

    test('sent ten times at once, a token is one event', async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => report(tokens.refresh_token)))
      expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(10).fill(202))
      expect(answers.flatMap((answer) => eventsOf(answer))).toHaveLength(1)
    })

    test('100 values are accepted; 101, none, or two lists are 400 and end nothing', async () => {
      const list = (count: number) => [...Array(count - 1).fill('junk'), tokens.access_token].join(' ')
      expect((await report(list(101))).json().error).toBe('invalid_request')
      expect((await report('', 'tokens=+')).statusCode).toBe(400)
      expect((await report('', '')).statusCode).toBe(400)
      expect((await report('', `tokens=${tokens.access_token}&tokens=${tokens.access_token}`)).statusCode).toBe(400)
      expect(await isLive(tokens)).toBe(true)
      expect((await report(list(100))).statusCode).toBe(202)
      expect(await isLive(tokens)).toBe(false)
    })

    test('reports with unknown values are limited by address; a report of live tokens is not', async () => {
      const limit = reportedTokenLimit('127.0.0.1')
      await setCounter(world.server, limit, limit.count)
      try {
        const refused = await report(unknown())
        expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, expect.stringMatching(/^\d+$/)])
        expect((await report(tokens.access_token)).statusCode).toBe(202)
        expect(await isLive(tokens)).toBe(false)
      } finally {
        await clearCounters(world.server)
      }
    })

    test('the developer of the app sees it, without the user', async () => {
      const answer = await report(tokens.access_token)
      const { out } = await runCommand(world.server.database, ['clients', 'refusals', client.clientId, '--limit', '1'])
      expect(out).toMatch(/^\d{4}-\S+Z leaked invalid_token token_reported \(not authenticated\)\n/)
      expect(out).toContain(`request id: ${answer.headers['x-request-id']}`)
      expect(out).not.toContain(world.userId)
    })
  })

  describe('tokens end', () => {
    const run = (stdin: string, ...more: string[]) =>
      runCommand(world.server.database, ['tokens', 'end', '--stdin', ...more], { stdin })

    test('ends the grants of the tokens on standard input, says how many were none, and is audited', async () => {
      const { code, out } = await run(`${tokens.access_token}\n${unknown()}\n${others.refresh_token}\n`, '--json')
      expect([code, JSON.parse(out)]).toEqual([
        0,
        {
          ended: [1, 2].map(() => ({
            grant_id: expect.any(String),
            user_id: world.userId,
            client_id: client.clientId
          })),
          unknown: 1
        }
      ])
      expect([await isLive(tokens), await isLive(others)]).toEqual([false, false])
      expect(await lastChangeIn(world.server)).toMatchObject({
        event: 'grant_revoked',
        user_id: world.userId,
        client_id: client.clientId,
        details: { actor: { kind: 'command_line', name: OPERATOR } }
      })
    })

    test('a second time ends nothing; no values are a usage error', async () => {
      await run(tokens.access_token)
      const again = await run(tokens.access_token)
      expect([again.code, again.out]).toEqual([
        0,
        'Ended 0 grants\nNot live, or of a grant that another one ended: 1\n'
      ])
      expect((await run('')).code).toBe(2)
      expect((await runCommand(world.server.database, ['tokens', 'end'])).code).toBe(2)
    })
  })
})
