import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createConsentStore } from '../../../src/storage/postgres/consents.js'
import { changesIn, lastChangeIn } from '../../support/administration.js'
import { AUDIENCE, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { OPERATOR, runCommand } from '../../support/command-line.js'
import { PASSWORD, refresh } from '../../support/flow.js'
import { introspectionOf, obtainTokens, pairOf } from '../../support/tokens.js'

const actor = { kind: 'command_line', name: OPERATOR }

let server: TestServer
let count = 0
let userId: string
let name: string

beforeAll(async () => {
  server = await startTestServer()
  userId = await server.createUser('alice', PASSWORD)
})
beforeEach(async () => {
  count += 1
  name = `reports.read/${count}`
  const texts = ['--title', 'Your reports', '--description', 'All of them.', '--title-in', 'de=Ihre Berichte']
  expect((await scopes('create', name, ...texts, '--title-in', 'fr=Vos rapports')).code).toBe(0)
})
afterAll(() => server.close())

const scopes = (...args: string[]) => runCommand(server.database, ['scopes', ...args])
const clients = (...args: string[]) => runCommand(server.database, ['clients', ...args])

async function shown() {
  const found = JSON.parse((await scopes('list', '--json')).out).scopes
  return found.find((scope: { name: string }) => scope.name === name)
}

const scopesOf = async (clientId: string) => {
  const { scope, optional_scope } = JSON.parse((await clients('show', clientId, '--json')).out)
  return [scope, optional_scope]
}

test('scopes create is audited', async () => {
  expect(await lastChangeIn(server)).toMatchObject({
    event: 'scope_created',
    details: { actor, scope: name, title: 'Your reports', translations: { de: { title: 'Ihre Berichte' } } }
  })
})

describe('scopes update', () => {
  test.each([
    { args: ['--title', ' Reports '], change: { title: 'Reports' } },
    { args: ['--description', ''], change: { description: '' } },
    {
      args: ['--title-in', 'de=Berichte', '--description-in', 'de=Alle.'],
      change: { translations: { de: { title: 'Berichte', description: 'Alle.' }, fr: { title: 'Vos rapports' } } }
    },
    { args: ['--drop-language', 'fr'], change: { translations: { de: { title: 'Ihre Berichte' } } } }
  ] as { args: string[]; change: Record<string, unknown> }[])(
    '$args changes only this member',
    async ({ args, change }) => {
      const before = await shown()
      const { code, out } = await scopes('update', name, ...args, '--json')
      expect([code, JSON.parse(out)]).toEqual([0, { ...before, ...change }])
      expect(await shown()).toEqual({ ...before, ...change })
      const [member = ''] = Object.keys(change)
      expect(await lastChangeIn(server)).toMatchObject({
        event: 'scope_updated',
        details: { actor, scope: name, changes: { [member]: { from: before[member], to: change[member] } } }
      })
    }
  )

  test('the texts of a built-in scope can be changed', async () => {
    const { code, out } = await scopes('update', 'files.read:media', '--title', 'Hear your music', '--json')
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ title: 'Hear your music', built_in: true })])
  })

  test('an update to the current texts records no event', async () => {
    const events = await changesIn(server)
    expect((await scopes('update', name, '--title', 'Your reports')).code).toBe(0)
    expect(await changesIn(server)).toEqual(events)
  })

  test.each([
    { problem: 'nothing', args: [] },
    { problem: 'an empty title', args: ['--title', ' '] },
    { problem: 'a title of two lines', args: ['--title', 'a\nb'] },
    { problem: 'a title over 500 characters', args: ['--title', 'x'.repeat(501)] },
    { problem: 'a translation of no form', args: ['--title-in', 'Berichte'] }
  ])('$problem is wrong usage (2)', async ({ args }) => {
    const before = await shown()
    expect((await scopes('update', name, ...args)).code).toBe(2)
    expect(await shown()).toEqual(before)
  })

  test('an unknown name or id is 3', async () => {
    expect((await scopes('update', 'unknown', '--title', 'x')).code).toBe(3)
  })
})

describe('scopes delete', () => {
  test('deletes a scope without clients and audits its last state', async () => {
    const { code, out } = await scopes('delete', name, '--yes', '--json')
    expect([code, JSON.parse(out)]).toMatchObject([0, { name, taken_from: [] }])
    expect(await shown()).toBeUndefined()
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'scope_deleted',
      details: { actor, scope: name, title: 'Your reports', clientIds: [] }
    })
  })

  test('a built-in scope is a conflict (4) and is not deleted', async () => {
    const { code, said } = await scopes('delete', 'files.read:images', '--yes', '--from-clients')
    expect([code, said]).toEqual([4, expect.stringContaining('built in')])
    expect((await scopes('list')).out).toContain('files.read:images')
  })

  test('a scope of clients is a conflict (4) that names them; --from-clients removes it from them', async () => {
    const first = await server.createClient({ requiredScopes: ['files.read', name] })
    const second = await server.createClient({ requiredScopes: ['files.read'], optionalScopes: [name] })
    const refused = await scopes('delete', name, '--yes')
    expect(refused.code).toBe(4)
    for (const { clientId } of [first, second]) expect(refused.said).toContain(clientId)
    expect(await shown()).toBeDefined()
    const { code, out } = await scopes('delete', name, '--yes', '--from-clients', '--json')
    const clientIds = [first.clientId, second.clientId].toSorted()
    expect([code, JSON.parse(out).taken_from.toSorted()]).toEqual([0, clientIds])
    expect(await scopesOf(first.clientId)).toEqual(['files.read', ''])
    expect(await scopesOf(second.clientId)).toEqual(['files.read', ''])
  })

  test('the only scope of a client is a conflict (4) even with --from-clients', async () => {
    const { clientId } = await server.createClient({ requiredScopes: [name] })
    const { code, said } = await scopes('delete', name, '--yes', '--from-clients')
    expect([code, said]).toEqual([4, expect.stringContaining(clientId)])
    expect(await scopesOf(clientId)).toEqual([name, ''])
  })

  test('tokens and remembered consents lose the scope at once', async () => {
    const client = await server.createClient({ requiredScopes: ['files.read', name], consent: 'remember' })
    const caller = await server.createResourceServer()
    const tokens = await obtainTokens(server, client, { scope: `files.read ${name}` })
    await scopes('delete', name, '--yes', '--from-clients')
    expect(await introspectionOf(server, caller, tokens.access_token)).toMatchObject({ scope: 'files.read' })
    expect(pairOf(await refresh(server, client, tokens.refresh_token)).scope).toBe('files.read')
    const key = { userId, clientId: client.clientId, audience: AUDIENCE }
    expect(await createConsentStore(server.database).findScope(key)).toEqual(['files.read'])
  })

  test('asks: No changes nothing (1), without a terminal 2, an unknown scope 3', async () => {
    expect((await runCommand(server.database, ['scopes', 'delete', name], { answer: false })).code).toBe(1)
    expect((await scopes('delete', name)).code).toBe(2)
    expect(await shown()).toBeDefined()
    expect((await scopes('delete', 'unknown', '--yes')).code).toBe(3)
  })

  test('five concurrent deletions: one succeeds, the others are not_found or conflict', async () => {
    const codes = (await Promise.all([1, 2, 3, 4, 5].map(() => scopes('delete', name, '--yes')))).map(
      ({ code }) => code
    )
    expect(codes.filter((code) => code === 0)).toHaveLength(1)
    expect(codes.every((code) => [0, 3, 4].includes(code))).toBe(true)
  })
})
