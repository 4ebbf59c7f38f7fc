import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { startRegistry, type TestRegistry } from '../../registry-file/support/registry-files.js'

const AUDIENCE = 'https://reports.example'
const REPORTS = { client_id: 'a', name: 'reports', audience: AUDIENCE }
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

/** The binding of each credential. */
async function stored(): Promise<Record<string, string | undefined>> {
  const { out } = await registry.valetkey('resource-servers', 'list', '--json')
  const servers: { name: string; client_id: string; dpop?: string }[] = JSON.parse(out).resource_servers
  return Object.fromEntries(servers.map(({ client_id: id, dpop }) => [id, dpop]))
}

describe('resource-servers --dpop', () => {
  const create = (...options: string[]) =>
    registry.valetkey('resource-servers', 'create', '--name', 'reports', '--audience', AUDIENCE, '--json', ...options)

  test('create marks an API, a second credential has its value, and update changes both', async () => {
    const { out } = await create('--dpop', 'allowed')
    const { client_id: id, dpop } = JSON.parse(out)
    expect(dpop).toBe('allowed')
    await create()
    expect(Object.values(await stored())).toEqual(['allowed', 'allowed'])
    expect((await registry.valetkey('resource-servers', 'update', id, '--dpop', 'required')).code).toBe(0)
    expect(Object.values(await stored())).toEqual(['required', 'required'])
    expect((await registry.valetkey('resource-servers', 'update', id, '--title', 'Reports')).code).toBe(0)
    expect(Object.values(await stored())).toEqual(['required', 'required'])
    expect((await registry.valetkey('resource-servers', 'update', id, '--dpop', 'off')).code).toBe(0)
    expect(Object.values(await stored())).toEqual([undefined, undefined])
  })

  test.each([['--dpop', 'yes'], []])('update with %s %s is wrong usage (2)', async (...options) => {
    const { client_id: id } = JSON.parse((await create()).out)
    expect((await registry.valetkey('resource-servers', 'update', id, ...options)).code).toBe(2)
  })
})

describe('dpop in the registry file', () => {
  test('of one entry is that of both credentials; a second run changes nothing, and without it the API is off', async () => {
    const document = { resource_servers: [{ ...REPORTS, dpop: 'allowed' }, SECOND] }
    expect((await registry.apply(document)).code).toBe(0)
    expect(await registry.apply(document)).toEqual(NOTHING)
    expect(await stored()).toEqual({ a: 'allowed', b: 'allowed' })
    expect(await registry.apply({ resource_servers: (await registry.exported()).resource_servers })).toEqual(NOTHING)
    const unmarked = { resource_servers: [REPORTS, { ...SECOND, dpop: 'off' }] }
    expect((await registry.apply(unmarked)).out).toBe('Updated resource server a: dpop\n')
    expect(await registry.apply(unmarked)).toEqual(NOTHING)
    expect(await stored()).toEqual({ a: undefined, b: undefined })
  })

  test('of two entries with different values is a mistake (2)', async () => {
    const document = {
      resource_servers: [
        { ...REPORTS, dpop: 'allowed' },
        { ...SECOND, dpop: 'required' }
      ]
    }
    const { code, said } = await registry.apply(document)
    expect([code, said]).toEqual([
      2,
      'resource_servers[1].dpop: an API has one dpop, and that of resource_servers[0] is "allowed"'
    ])
  })

  test('with another value is a mistake (2)', async () => {
    expect((await registry.apply({ resource_servers: [{ ...REPORTS, dpop: 'yes' }] })).code).toBe(2)
  })
})

test('clients create --dpop-bound and update --no-dpop-bound set the member of the client', async () => {
  const options = ['--name', 'A', '--redirect-uri', 'https://a.example/cb', '--scope', 'files.read']
  const created = await registry.valetkey('clients', 'create', ...options, '--dpop-bound', '--json')
  const { client_id: id } = JSON.parse(created.out)
  const boundOf = async () => JSON.parse((await registry.valetkey('clients', 'show', id, '--json')).out)
  expect(await boundOf()).toMatchObject({ dpop_bound_access_tokens: true })
  expect((await registry.valetkey('clients', 'update', id, '--no-dpop-bound')).code).toBe(0)
  expect(await boundOf()).toMatchObject({ dpop_bound_access_tokens: false })
})
