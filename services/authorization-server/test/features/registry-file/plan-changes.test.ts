import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { startRegistry, type TestRegistry } from './support/registry-files.js'

const AUDIENCE = 'https://reports.example'
const REPORTS = { client_id: 'reports-api', name: 'reports', audience: AUDIENCE }
const SCOPE = { name: 'reports.read', title: 'See your reports', resource: AUDIENCE }
const PRINTER = {
  client_id: 'printer',
  name: 'Printer',
  redirect_uris: ['https://printer.example/cb'],
  scope: 'files.read reports.read',
  resources: [AUDIENCE]
}
const WHOLE = { resource_servers: [REPORTS], scopes: [SCOPE], clients: [PRINTER] }
const NOTHING = { code: 0, out: 'Nothing to change\n', said: '' }

let registry: TestRegistry

beforeAll(async () => {
  registry = await startRegistry()
})
afterAll(() => registry.close())
beforeEach(async () => {
  await registry.clear()
})

describe('apply: a scope', () => {
  test.each([
    { name: 'spaces around its texts', change: { title: ' See your reports\n', description: 'All of them\n' } },
    {
      name: 'translations in another order than Postgres has them',
      change: { translations: { de: { description: 'Alle', title: 'Berichte' }, ar: { title: 'التقارير' } } }
    },
    {
      name: 'spaces around a translation',
      change: { translations: { de: { title: ' Berichte ' } } }
    }
  ])('with $name is changed once, and a second run changes nothing', async ({ change }) => {
    await registry.apply({ resource_servers: [REPORTS], scopes: [SCOPE] })
    const document = { scopes: [{ ...SCOPE, ...change }] }
    await registry.apply(document)
    expect(await registry.apply(document)).toEqual(NOTHING)
  })
})

describe('apply: an API whose last credential was deleted', () => {
  beforeEach(async () => {
    await registry.apply(WHOLE)
    await registry.valetkey('resource-servers', 'delete', 'reports-api', '--yes')
  })

  test('stays that of its scopes and clients: the exported file changes nothing', async () => {
    expect(await registry.prune(await registry.exported())).toEqual(NOTHING)
  })

  test('stays that of its scopes and clients when something else is changed', async () => {
    const scopes = [{ ...SCOPE, title: 'See all reports' }]
    const { code, out } = await registry.apply({ scopes, clients: [{ ...PRINTER, name: 'Other' }] })
    expect([code, out]).toEqual([0, 'Updated scope reports.read: title\nUpdated client printer: name\n'])
    const { scopes: after, clients } = await registry.exported()
    expect(after.find(({ name }) => name === SCOPE.name)).toMatchObject({
      title: 'See all reports',
      resource: AUDIENCE
    })
    expect(clients[0]).toMatchObject({ name: 'Other', resources: [AUDIENCE] })
  })

  test('cannot be named by a new scope or client', async () => {
    const { code, said } = await registry.apply({
      scopes: [{ ...SCOPE, name: 'reports.write' }],
      clients: [{ ...PRINTER, client_id: 'second' }]
    })
    expect([code, said]).toEqual([
      2,
      expect.stringMatching(/^scopes\[0\]\.resource: .*\nclients\[0\]\.resources\[0\]: /)
    ])
  })
})

test('apply: a client with the id of an app that a user registered is a conflict (4) before the first change', async () => {
  await registry.apply(WHOLE)
  await registry.run(`update clients set origin = 'developer'`)
  const { code, out, said } = await registry.apply({ scopes: [{ ...SCOPE, title: 'Other' }], clients: [PRINTER] })
  await registry.run(`update clients set origin = 'registered'`)
  expect([code, out]).toEqual([4, ''])
  expect(said).toBe('clients[0].client_id: client printer exists already, and no operator registered it')
})
