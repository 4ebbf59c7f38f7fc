import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { linesOf } from './support/traced-requests.js'
import { createTokenSource } from './system/load/issue-tokens.mjs'
import { type Cluster, startCluster } from './system/start-cluster.mjs'

jest.setTimeout(60_000)

let cluster: Cluster
let tokens: string[]
beforeAll(async () => {
  cluster = await startCluster({ authorizationServers: 1, resourceServers: 1, logLevel: 'info' })
  const source = await createTokenSource(cluster)
  tokens = []
  for (let count = 0; count < 40; count++) tokens.push(await source.nextToken())
})
afterAll(() => cluster.stop())

async function listFiles(token: string): Promise<string> {
  const response = await fetch(`${cluster.resourceServers[0]?.url}/v1/files`, {
    headers: { authorization: `Bearer ${token}` }
  })
  await response.arrayBuffer()
  expect(response.status).toBe(200)
  return response.headers.get('x-request-id') ?? ''
}

const inBothLogs = async (id: string) => ({
  resource: (await linesOf(cluster.resourceServers[0]?.logFile, id)).map(({ route }) => route),
  authorization: await linesOf(cluster.authorizationServers[0]?.logFile, id)
})

test('the request id of a response is in the logs of both services', async () => {
  const id = await listFiles(tokens[0] ?? '')
  const { resource, authorization } = await inBothLogs(id)
  expect(resource).toEqual(['/v1/files'])
  expect(authorization).toMatchObject([{ event: 'request', reqId: id, route: '/introspect' }])
})

test.each([
  { name: 'different tokens', tokenOf: (number: number) => tokens[number] ?? '' },
  { name: 'the same token', tokenOf: () => tokens[0] ?? '' }
])('requests that share a call, with $name: each id is in both logs', async ({ tokenOf }) => {
  const ids = await Promise.all(tokens.map((_token, number) => listFiles(tokenOf(number))))
  const shared = new Set<string>()
  for (const id of ids) {
    const { resource, authorization } = await inBothLogs(id)
    expect([id, resource]).toEqual([id, ['/v1/files']])
    const [line] = authorization.filter(({ event }) => event === 'request')
    expect([line?.reqId, ...(line?.otherReqIds ?? [])]).toContain(id)
    if ((line?.otherReqIds ?? []).length > 0) shared.add(line?.reqId ?? '')
  }
  // Otherwise the test would not cover requests that share a call.
  expect(shared.size).toBeGreaterThan(0)
  expect(new Set(ids).size).toBe(tokens.length)
})
