import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { startRegistry, type TestRegistry } from '../../../support/registry-files.js'

const AUDIENCE = 'https://reports.example'
const REPORTS = { client_id: 'reports-api', name: 'reports', audience: AUDIENCE }
const SCOPE = { name: 'reports.read', title: 'See your reports', resource: AUDIENCE }
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
