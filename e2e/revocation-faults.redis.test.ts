import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createTokenSource, type TokenSource } from './system/load/issue-tokens.mjs'
import { type Cluster, startCluster } from './system/start-cluster.mjs'

/** The documented limit: no guard accepts a revoked token for longer than this, after any failure. */
const BOUND_MS = 3_000

let cluster: Cluster
let source: TokenSource
beforeAll(async () => {
  cluster = await startCluster({ authorizationServers: 2, resourceServers: 2, cacheSeconds: 60 })
  source = await createTokenSource(cluster)
})
afterAll(() => cluster.stop())

async function status(api: number, token: string): Promise<number> {
  const response = await fetch(`${at(cluster.resourceServers, api).url}/v1/files`, {
    headers: { authorization: `Bearer ${token}` }
  })
  await response.arrayBuffer()
  return response.status
}

/** A token that every resource server has cached and accepts without introspection. */
async function keptToken(): Promise<string> {
  const token = await source.nextToken()
  for (const [api, { internal }] of cluster.resourceServers.entries()) {
    for (let asked = -1; asked !== internal.count(); ) {
      asked = internal.count()
      await untilStatus(api, token, 200)
    }
  }
  return token
}

async function untilStatus(api: number, token: string, expected: number): Promise<void> {
  while ((await status(api, token).catch(() => 0)) !== expected) await wait(20)
}

/** Sends requests to every resource server repeatedly. Records when accepted ones were sent, and all status codes. */
function watch(token: string) {
  const passes: number[] = []
  const said = cluster.resourceServers.map(() => new Set<number>())
  let watching = true
  const loops = cluster.resourceServers.map(async (_api, index) => {
    while (watching) {
      const askedAt = performance.now()
      const answer = await status(index, token)
      if (answer === 200) passes.push(askedAt)
      said[index]?.add(answer)
      await wait(5)
    }
  })
  return {
    async stop() {
      watching = false
      await Promise.all(loops)
      return {
        said: said.map((answers) => [...answers]),
        /** When the last accepted request was sent. Its response may come later, from a slow or paused process. */
        lastPass: Math.max(...passes)
      }
    }
  }
}

const publicUrl = (index: number) => `http://127.0.0.1:${at(cluster.authorizationServers, index).publicPort}`

test('a cached token that was revoked at one authorization server is refused at the resource servers of both', async () => {
  const token = await keptToken()
  await source.revoke(token, publicUrl(1))
  for (const api of cluster.resourceServers.keys()) await untilStatus(api, token, 401)
})

test.each([
  {
    name: 'the connections to the authorization server are cut',
    harm: () => at(cluster.resourceServers, 0).internal.cut(),
    repair: () => {},
    lingers: false,
    others: [200, 401]
  },
  {
    name: 'the feed sends nothing',
    harm: () => expect(at(cluster.resourceServers, 0).internal.silence(/GET \/revocations/)).toBeGreaterThan(0),
    repair: () => {},
    lingers: true,
    others: [200, 401]
  },
  {
    name: 'the LISTEN connection delivers nothing',
    harm: () => expect(at(cluster.authorizationServers, 0).postgres.silence(/listen /i)).toBe(1),
    repair: () => {},
    lingers: true,
    others: [200, 401]
  },
  {
    name: 'the authorization server is paused',
    harm: () => process.kill(at(cluster.authorizationServers, 0).pid, 'SIGSTOP'),
    repair: () => process.kill(at(cluster.authorizationServers, 0).pid, 'SIGCONT'),
    lingers: true,
    others: [200, 401, 503]
  },
  {
    name: 'a resource server was paused while the token was revoked',
    harm: () => {
      process.kill(at(cluster.resourceServers, 0).pid, 'SIGSTOP')
      setTimeout(() => process.kill(at(cluster.resourceServers, 0).pid, 'SIGCONT'), 3_500)
    },
    repair: () => {},
    lingers: false,
    others: [200, 401, 503]
  }
])('$name: a revoked token is accepted for at most three seconds', async ({ harm, repair, lingers, others }) => {
  const token = await keptToken()
  const watched = watch(token)
  await wait(200)
  harm()
  await source.revoke(token, publicUrl(1))
  const revokedAt = performance.now()
  await wait(BOUND_MS + 2_000)
  repair()
  const { lastPass, said } = await watched.stop()
  // Without any event, only the expiry of the lease can have ended the access.
  if (lingers) expect(lastPass - revokedAt).toBeGreaterThan(500)
  expect(lastPass - revokedAt).toBeLessThan(BOUND_MS)
  for (const answers of said) expect(others).toEqual(expect.arrayContaining(answers))
  for (const api of cluster.resourceServers.keys()) await untilStatus(api, token, 401)
})

test('the authorization server is stopped: 503 and not 401, also for cached tokens after the limit; 200 after its start', async () => {
  const token = await keptToken()
  for (const { pid } of cluster.authorizationServers) process.kill(pid, 'SIGSTOP')
  const watched = watch(token)
  await wait(BOUND_MS + 1_000)
  for (const { pid } of cluster.authorizationServers) process.kill(pid, 'SIGCONT')
  for (const api of cluster.resourceServers.keys()) await untilStatus(api, token, 200)
  const { said } = await watched.stop()
  for (const answers of said) {
    expect(answers).toContain(503)
    expect(answers).not.toContain(401)
  }
})

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index]
  if (item === undefined) throw new Error(`there is none with number ${index}`)
  return item
}
