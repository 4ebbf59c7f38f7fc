import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { CASES, ISSUER, live, METADATA_PATH, RESOURCE, type Traits } from '../packages/guard/test/adapters/cases.js'
import { checkCase } from '../packages/guard/test/adapters/check-case.js'
import { type FakeEndpoint, json, startFakeEndpoint } from '../packages/guard/test/fake-introspection-endpoint.js'
import { read } from './support/documents.js'
import { GUARDS, startGuard } from './support/guard-program.js'

// `go run` compiles its packages at the first run.
let endpoint: FakeEndpoint

beforeAll(async () => {
  endpoint = await startFakeEndpoint()
})
afterAll(() => endpoint.close())

const TRAITS: Readonly<Record<string, Traits>> = {
  'guard.php': { joinsHeaders: true },
  'Guard.java': { replacesTabs: true }
}
const getJson = async (url: string, headers = {}) => (await fetch(url, { headers })).json()

describe.each(GUARDS)('$file', ({ file, command }) => {
  let guard: Awaited<ReturnType<typeof startGuard>>
  beforeAll(async () => {
    guard = await startGuard(command, {
      ISSUER,
      RESOURCE,
      INTROSPECTION_URL: endpoint.url,
      INTROSPECTION_CLIENT_ID: 'rs',
      INTROSPECTION_CLIENT_SECRET: 'secret'
    })
  })
  afterAll(() => guard?.stop())

  test.each(CASES)('$name: $expected.status', async (each) => {
    await checkCase({ port: guard.port, ...TRAITS[file] }, endpoint, each)
  })

  test('an accepted request gets the reports of the user, after one call with the credential', async () => {
    endpoint.answers(json(live))
    const reports = await getJson(`${guard.url}/reports`, { authorization: 'Bearer a+/=' })
    expect(reports).toEqual({ owner: 'alice-id', reports: ['October', 'November'] })
    const [call] = endpoint.calls
    expect(new URLSearchParams(call?.body).get('token')).toBe('a+/=')
    expect(call?.headers.authorization).toBe(`Basic ${btoa('rs:secret')}`)
  })

  test('the metadata is at the URL of the challenge (RFC 9728)', async () => {
    const metadata = await getJson(`${guard.url}${METADATA_PATH}`)
    expect(metadata).toMatchObject({ resource: RESOURCE, authorization_servers: [ISSUER] })
  })
})

test.each(GUARDS)('$file has at most 60 lines', ({ file }) => {
  expect(read(`examples/guards/${file}`).trimEnd().split('\n').length).toBeLessThanOrEqual(60)
})
