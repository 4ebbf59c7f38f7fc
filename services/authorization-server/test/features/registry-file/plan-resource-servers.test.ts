import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { RegistryDocument } from '../../../src/features/registry-file/registry-document.js'
import { startRegistry, type TestRegistry } from './support/registry-files.js'

const AUDIENCE = 'https://reports.example'
const REPORTS = { client_id: 'a', name: 'reports', audience: AUDIENCE, title: 'Reports' }
const SECOND = { client_id: 'b', name: 'reports', audience: AUDIENCE }
const NOTHING = { code: 0, out: 'Nothing to change\n', said: '' }

let registry: TestRegistry

beforeAll(async () => {
  registry = await startRegistry()
})
afterAll(() => registry.close())
beforeEach(async () => {
  await registry.clear()
})

const exportedTitles = async () => (await registry.exported()).resource_servers.map(({ title }) => title)
const storedTitles = async () => {
  const { out } = await registry.valetkey('resource-servers', 'list', '--json')
  const servers: { client_id: string; title?: string }[] = JSON.parse(out).resource_servers
  return Object.fromEntries(servers.map((server) => [server.client_id, server.title]))
}

describe('apply: the title of an API with two credentials', () => {
  test.each([
    { name: 'only the first entry', servers: [REPORTS, SECOND] },
    { name: 'only the last entry', servers: [SECOND, REPORTS] },
    { name: 'both entries', servers: [REPORTS, { ...SECOND, title: 'Reports' }] }
  ])('of $name is that of both credentials, and a second run changes nothing', async ({ servers }) => {
    expect((await registry.apply({ resource_servers: servers })).code).toBe(0)
    expect(await registry.apply({ resource_servers: servers })).toEqual(NOTHING)
    expect(await storedTitles()).toEqual({ a: 'Reports', b: 'Reports' })
  })

  test('is changed and removed once for both credentials', async () => {
    await registry.apply({ resource_servers: [REPORTS, SECOND] })
    const renamed = { resource_servers: [SECOND, { ...REPORTS, title: 'Figures' }] }
    expect((await registry.apply(renamed)).out).toBe('Updated resource server b: title\n')
    expect(await registry.apply(renamed)).toEqual(NOTHING)
    expect(await storedTitles()).toEqual({ a: 'Figures', b: 'Figures' })
    const { title: _title, ...untitled } = REPORTS
    expect((await registry.apply({ resource_servers: [untitled, SECOND] })).out).toBe(
      'Updated resource server a: title\n'
    )
    expect(await registry.apply({ resource_servers: [untitled, SECOND] })).toEqual(NOTHING)
    expect(await storedTitles()).toEqual({ a: undefined, b: undefined })
  })

  test('of two entries with different titles is a mistake (2), which names both entries', async () => {
    const document = { resource_servers: [REPORTS, { ...SECOND, title: 'Figures' }] }
    const { code, said } = await registry.apply(document, '--dry-run')
    expect([code, said]).toEqual([
      2,
      'resource_servers[1].title: an API has one title, and that of resource_servers[0] is "Reports"'
    ])
  })

  test('stays if only a credential that the file does not list has it', async () => {
    await registry.apply({ resource_servers: [REPORTS] })
    expect((await registry.apply({ resource_servers: [SECOND] })).out).toBe('Created resource server b\n')
    expect(await registry.apply({ resource_servers: [SECOND] })).toEqual(NOTHING)
    expect(await storedTitles()).toEqual({ a: 'Reports', b: 'Reports' })
  })

  test('of a new entry is also that of a credential that the file does not list', async () => {
    await registry.apply({ resource_servers: [REPORTS] })
    const document = { resource_servers: [{ ...SECOND, title: 'Figures' }] }
    expect((await registry.apply(document)).out).toBe('Created resource server b\nUpdated resource server b: title\n')
    expect(await registry.apply(document)).toEqual(NOTHING)
    expect(await storedTitles()).toEqual({ a: 'Figures', b: 'Figures' })
  })

  test('is not taken from a credential that --prune deletes', async () => {
    await registry.apply({ resource_servers: [REPORTS] })
    expect((await registry.prune({ resource_servers: [SECOND] })).code).toBe(0)
    expect(await registry.prune({ resource_servers: [SECOND] })).toEqual(NOTHING)
    expect(await storedTitles()).toEqual({ b: undefined })
  })

  test('is exported for each credential, also if they were created with different ones', async () => {
    await registry.apply({ resource_servers: [REPORTS] })
    const other = ['--name', 'reports', '--audience', AUDIENCE, '--title', 'Figures']
    await registry.valetkey('resource-servers', 'create', ...other)
    expect(await exportedTitles()).toEqual(['Reports', 'Reports'])
    expect(await registry.prune(await registry.exported())).toEqual(NOTHING)
  })

  test('with spaces around it is stored without them, and a second run changes nothing', async () => {
    const document = { resource_servers: [{ ...REPORTS, name: ' reports ', title: ' Reports\n' }] }
    expect((await registry.apply(document)).code).toBe(0)
    expect(await registry.apply(document)).toEqual(NOTHING)
  })
})

describe('apply: titles of an API in other languages', () => {
  const translated = { ...REPORTS, title_in: { de: ' Berichte ', ar: 'التقارير' } }

  test('are those of all its credentials, are exported, and a second run changes nothing', async () => {
    const document = { resource_servers: [SECOND, translated] }
    expect((await registry.apply(document)).code).toBe(0)
    expect(await registry.apply(document)).toEqual(NOTHING)
    const { resource_servers: servers } = await registry.exported()
    expect(servers.map((server) => server.title_in)).toEqual(Array(2).fill({ de: 'Berichte', ar: 'التقارير' }))
    expect(await registry.prune(await registry.exported())).toEqual(NOTHING)
  })

  test('are changed and removed with the file', async () => {
    await registry.apply({ resource_servers: [translated] })
    const changed = { resource_servers: [{ ...translated, title_in: { de: 'Zahlen' } }] }
    expect((await registry.apply(changed)).out).toBe('Updated resource server a: title_in\n')
    expect(await registry.apply(changed)).toEqual(NOTHING)
    expect((await registry.apply({ resource_servers: [REPORTS] })).out).toBe('Updated resource server a: title_in\n')
    expect((await registry.exported()).resource_servers).toEqual([REPORTS])
  })

  test.each([
    { name: 'without a title', change: {}, place: 'title_in: an API with a title in other' },
    { name: 'in a language of no form', change: { title_in: { 'd e': 'x' } }, place: 'title_in.d e: "d e" is not' },
    { name: 'that is empty', change: { title_in: { de: ' ' } }, place: 'title_in.de: a title must have' },
    { name: 'that is no text', change: { title_in: { de: { title: 'x' } } }, place: 'title_in.de: must be a text' },
    { name: 'unlike that of another entry', change: {}, place: 'title_in: an API has one title_in, and that of' }
  ])('$name are a mistake (2) with its place', async ({ name, change, place }) => {
    const { title, ...untitled } = { ...translated, ...change }
    const given = name === 'without a title' ? untitled : { title, ...untitled }
    const others = name.startsWith('unlike') ? [{ ...SECOND, client_id: 'c', title_in: { de: 'Zahlen' } }] : []
    const document = { resource_servers: [...others, given] } as RegistryDocument
    const { code, said } = await registry.apply(document, '--dry-run')
    expect([code, said]).toEqual([2, expect.stringContaining(`resource_servers[${others.length}].${place}`)])
  })
})

describe('apply: a new entry with another spelling of an audience', () => {
  const shouted = { ...SECOND, audience: 'https://REPORTS.example/' }
  const before = { client_id: 'c', name: 'c', audience: 'https://c.example' }

  test('that is registered is a conflict (4) before the first change, also with --prune', async () => {
    await registry.apply({ resource_servers: [REPORTS] })
    const stored = await registry.exported()
    for (const options of [[], ['--dry-run'], ['--prune', '--yes']]) {
      const { code, out, said } = await registry.apply({ resource_servers: [before, shouted] }, ...options)
      expect([code, out]).toEqual([4, ''])
      expect(said).toBe(`resource_servers[1].audience: the API is registered as ${AUDIENCE}: use this spelling`)
    }
    expect(await registry.exported()).toEqual(stored)
  })

  test('that an earlier entry has is a mistake (2) before the first change', async () => {
    const { code, said } = await registry.apply({ resource_servers: [REPORTS, shouted] })
    expect([code, said]).toEqual([
      2,
      `resource_servers[1].audience: resource_servers[0] has another spelling, ${AUDIENCE}: use one for both`
    ])
    expect((await registry.exported()).resource_servers).toEqual([])
  })
})
