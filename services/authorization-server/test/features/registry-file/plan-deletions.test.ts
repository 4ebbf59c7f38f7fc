import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { startRegistry, type TestRegistry } from './support/registry-files.js'

const AUDIENCE = 'https://reports.example'
const REPORTS = { client_id: 'reports-api', name: 'reports', audience: AUDIENCE }
const OTHER = { client_id: 'other-api', name: 'other', audience: 'https://other.example' }
const SCOPE = { name: 'reports.read', title: 'See your reports', resource: AUDIENCE }
const PRINTER = {
  client_id: 'printer',
  name: 'Printer',
  redirect_uris: ['https://printer.example/cb'],
  scope: 'files.read reports.read'
}
const LIMITED = { ...PRINTER, scope: 'files.read', resources: [AUDIENCE] }

let registry: TestRegistry

beforeAll(async () => {
  registry = await startRegistry()
})
afterAll(() => registry.close())
beforeEach(async () => {
  await registry.run(`delete from clients where origin <> 'registered'`)
  await registry.clear()
})

/** Expects this mistake, before the first change, of a dry run and a real run. */
async function expectMistake(
  document: Parameters<TestRegistry['prune']>[0],
  mistake: { code: number; said: unknown }
): Promise<void> {
  const before = await registry.exported()
  for (const options of [['--dry-run'], []]) {
    expect(await registry.prune(document, ...options)).toEqual({ out: '', ...mistake })
  }
  expect(await registry.exported()).toEqual(before)
}

describe('apply --prune: a scope that the file does not contain', () => {
  beforeEach(async () => {
    await registry.apply({ resource_servers: [REPORTS], scopes: [SCOPE], clients: [PRINTER] })
  })

  test('cannot be deleted if a client of the file has it', async () => {
    const document = { resource_servers: [REPORTS, OTHER], scopes: [], clients: [PRINTER] }
    await expectMistake(document, { code: 2, said: expect.stringMatching(/^clients\[0\]\.scope: .*reports\.read/) })
  })

  test('cannot be deleted if a client has it and the file lists no clients', async () => {
    await expectMistake(
      { resource_servers: [REPORTS, OTHER], scopes: [] },
      { code: 4, said: 'scopes: --prune would delete the scope reports.read, which clients have: printer' }
    )
  })

  test.each(['developer', 'discovered'])('cannot be deleted if a %s client has it', async (origin) => {
    await registry.run('update clients set origin = $1', [origin])
    await expectMistake(
      { scopes: [], clients: [] },
      { code: 4, said: 'scopes: --prune would delete the scope reports.read, which clients have: printer' }
    )
  })

  test('is deleted if the client of the file no longer has it', async () => {
    const document = { scopes: [], clients: [{ ...PRINTER, scope: 'files.read' }] }
    const { code, out } = await registry.prune(document)
    expect([code, out]).toEqual([0, 'Updated client printer: scope\nDeleted scope reports.read\n'])
  })
})

describe('apply --prune: an API that the file does not contain', () => {
  test('cannot be deleted if a scope of the file belongs to it', async () => {
    await registry.apply({ resource_servers: [REPORTS], scopes: [SCOPE] })
    await expectMistake(
      { resource_servers: [], scopes: [SCOPE] },
      { code: 2, said: expect.stringMatching(/^scopes\[0\]\.resource: there is no resource server/) }
    )
  })

  test('cannot be deleted if a scope belongs to it and the file lists no scopes', async () => {
    await registry.apply({ resource_servers: [REPORTS], scopes: [SCOPE] })
    await expectMistake(
      { resource_servers: [OTHER] },
      { code: 4, said: `resource_servers: --prune would delete ${AUDIENCE}, which scopes belong to: reports.read` }
    )
  })

  test('cannot be deleted if a client of the file is limited to it', async () => {
    await registry.apply({ resource_servers: [REPORTS], clients: [LIMITED] })
    await expectMistake(
      { resource_servers: [], clients: [LIMITED] },
      { code: 2, said: expect.stringMatching(/^clients\[0\]\.resources\[0\]: there is no resource server/) }
    )
  })

  test('cannot be deleted if a client is limited to it and the file lists no clients', async () => {
    await registry.apply({ resource_servers: [REPORTS], clients: [LIMITED] })
    await expectMistake(
      { resource_servers: [] },
      { code: 4, said: `resource_servers: --prune would delete ${AUDIENCE}, which clients are limited to: printer` }
    )
  })

  test('keeps its scopes if one of its credentials stays', async () => {
    await registry.apply({ resource_servers: [REPORTS, { ...REPORTS, client_id: 'second' }], scopes: [SCOPE] })
    const { code, out } = await registry.prune({ resource_servers: [REPORTS] })
    expect([code, out]).toEqual([0, 'Deleted resource server second (reports)\n'])
  })

  test('is deleted after its scope has moved to a new API with the same name', async () => {
    const scope = { ...SCOPE, resource: 'reports' }
    const client = { ...LIMITED, resources: ['reports'] }
    await registry.apply({ resource_servers: [REPORTS], scopes: [scope], clients: [client] })
    const moved = { ...OTHER, name: 'reports' }
    const document = { resource_servers: [moved], scopes: [scope], clients: [client] }
    const { code, out } = await registry.prune(document)
    expect([code, out.split('\n')]).toEqual([
      0,
      [
        'Created resource server other-api',
        'Updated scope reports.read: resource',
        'Updated client printer: resources',
        'Deleted resource server reports-api (reports)',
        ''
      ]
    ])
    expect((await registry.prune(document)).out).toBe('Nothing to change\n')
  })
})
