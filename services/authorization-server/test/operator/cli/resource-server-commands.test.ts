import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { changesIn, lastChangeIn } from '../../support/administration.js'
import { AUDIENCE, type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { OPERATOR, runCommand } from '../../support/command-line.js'
import { introspect } from '../../support/flow.js'
import { basicHeaders, KEPT_SECRETS } from '../../support/kept-secrets.js'

const actor = { kind: 'command_line', name: OPERATOR }

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const servers = (...args: string[]) => runCommand(server.database, ['resource-servers', ...args])
const works = async (caller: Credentials) => (await introspect(server, caller, 'x')).statusCode === 200

async function made(...args: string[]): Promise<Credentials & { name: string; audience: string }> {
  const { code, out } = await servers(...args, '--json')
  expect(code).toBe(0)
  const { client_id: clientId, client_secret: clientSecret, name, audience } = JSON.parse(out)
  return { clientId, clientSecret, name, audience }
}

const create = () => made('create', '--name', 'files', '--audience', AUDIENCE)

describe('resource-servers create', () => {
  test('is audited without the secret; a repetition with the same id and secret is not audited', async () => {
    const { clientId } = await create()
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'resource_server_created',
      client_id: clientId,
      details: { actor, name: 'files', audience: AUDIENCE }
    })
    const secret = 'a-secret-made-elsewhere-of-32-or-more'
    const again = ['create', '--name', 'files', '--audience', AUDIENCE, '--client-id', 'twice', '--secret-stdin']
    const run = () => runCommand(server.database, ['resource-servers', ...again], { stdin: secret })
    expect((await run()).code).toBe(0)
    const events = await changesIn(server)
    expect((await run()).code).toBe(0)
    expect(await changesIn(server)).toEqual(events)
    expect(JSON.stringify(events)).not.toContain(secret)
  })

  test.each(KEPT_SECRETS)('the secret %s from another server works, encoded and raw', async (clientSecret) => {
    const clientId = `kept-${randomUUID()}`
    const args = ['create', '--name', 'kept', '--audience', AUDIENCE, '--client-id', clientId, '--secret-stdin']
    const { code, out } = await runCommand(server.database, ['resource-servers', ...args], { stdin: clientSecret })
    expect([code, out]).toEqual([0, expect.stringMatching(/client secret: kept; accepted in HTTP Basic, .*\n$/)])
    for (const { headers } of basicHeaders({ clientId, clientSecret })) {
      const answer = await server.internalServer.inject({
        method: 'POST',
        url: '/introspect',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        payload: 'token=x'
      })
      expect([answer.statusCode, headers]).toEqual([200, headers])
    }
    expect(await works({ clientId, clientSecret: `${clientSecret}=` })).toBe(false)
  })

  test('a repetition with another name reports the stored name', async () => {
    const again = async (name: string) => {
      const args = ['--audience', AUDIENCE, '--client-id', 'renamed', '--secret-stdin', '--json']
      const stdin = 'a-secret-made-elsewhere-of-32-or-more'
      return runCommand(server.database, ['resource-servers', 'create', '--name', name, ...args], { stdin })
    }
    expect(JSON.parse((await again('first')).out)).toMatchObject({ name: 'first' })
    const { code, out } = await again('second')
    expect([code, JSON.parse(out).name]).toEqual([0, 'first'])
  })

  test.each(['', 'x'.repeat(101), 'a\nb'])('the name %j is wrong usage (2)', async (name) => {
    expect((await servers('create', '--name', name, '--audience', AUDIENCE)).code).toBe(2)
  })
})

test('resource-servers list prints each credential with its audience, without a secret', async () => {
  const { clientId, clientSecret } = await create()
  const { out } = await servers('list', '--json')
  expect(JSON.parse(out).resource_servers).toContainEqual({
    client_id: clientId,
    name: 'files',
    audience: AUDIENCE,
    created_at: expect.stringMatching(/^\d{4}-.*Z$/)
  })
  const lines = (await servers('list')).out
  expect(lines).toMatch(/^CLIENT ID +NAME +AUDIENCE +LAST USED\n/)
  expect(out + lines).not.toContain(clientSecret)
})

describe('resource-servers rotate-secret and delete', () => {
  test('a second credential for the audience is valid next to the first, until that is deleted', async () => {
    const first = await create()
    const second = await made('rotate-secret', first.clientId)
    expect(second).toMatchObject({ name: 'files', audience: AUDIENCE })
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'resource_server_created',
      client_id: second.clientId,
      details: { actor, replaces: first.clientId }
    })
    expect([await works(first), await works(second)]).toEqual([true, true])
    const { code, out } = await servers('delete', first.clientId, '--yes', '--json')
    expect([code, JSON.parse(out).client_id]).toEqual([0, first.clientId])
    expect([await works(first), await works(second)]).toEqual([false, true])
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'resource_server_deleted',
      client_id: first.clientId,
      details: { actor, name: 'files', audience: AUDIENCE }
    })
  })

  test('delete asks and warns about the last credential of an audience; without a terminal 2', async () => {
    const audience = 'https://only.example'
    const only = await made('create', '--name', 'only', '--audience', audience)
    const ask = () => runCommand(server.database, ['resource-servers', 'delete', only.clientId], { answer: false })
    expect(await ask()).toMatchObject({ code: 1, said: expect.stringContaining(`the last one for ${audience}`) })
    const second = await made('rotate-secret', only.clientId)
    expect((await ask()).said).not.toContain('the last one')
    expect((await servers('delete', second.clientId)).code).toBe(2)
    expect(await works(only)).toBe(true)
  })

  test('an unknown name or id is 3', async () => {
    expect((await servers('rotate-secret', 'unknown')).code).toBe(3)
    expect((await servers('delete', 'unknown', '--yes')).code).toBe(3)
  })
})
