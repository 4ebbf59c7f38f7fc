// Measures how long the tokens of a user are accepted after POST /admin/global-token-revocation: at two resource servers with a cache, each
// at another authorization server. The user also has sessions, which must have ended with the response.
// Not run by npm test.   node e2e/leaver.mjs [--grants 1000] [--sessions 50]
// Ends with 1 if the 99th percentile is over 100 ms, or a session or the key can do what it must not.
import { parseArgs } from 'node:util'
import { simulateUser } from '../packages/dev-stack/lib/client/user.mjs'
import { ALICE } from '../packages/dev-stack/lib/services/register.mjs'
import { createTokenSource } from './system/load/issue-tokens.mjs'
import { startCluster } from './system/start-cluster.mjs'

const GATE_MS = 100
const TIME_LIMIT_MINUTES = 10

const { values } = parseArgs({
  options: { grants: { type: 'string', default: '1000' }, sessions: { type: 'string', default: '50' } }
})
const [grants, sessions] = [Number(values.grants), Number(values.sessions)]
if (!(grants >= 10 && grants <= 10_000 && sessions >= 1 && sessions <= 500)) {
  console.error('--grants 10 to 10000; --sessions 1 to 500.')
  process.exit(2)
}

const cluster = await startCluster({ authorizationServers: 2, resourceServers: 2, cacheSeconds: 60 })
const timer = setTimeout(() => {
  console.error(`stopped after ${TIME_LIMIT_MINUTES} minutes`)
  process.exitCode = 1
  void cluster.stop().then(() => process.exit())
}, TIME_LIMIT_MINUTES * 60_000)
try {
  process.exitCode = (await measure()) ? 0 : 1
} finally {
  clearTimeout(timer)
  await cluster.stop()
}

async function measure() {
  const { issuer, authorizationServers, resourceServers, valetkey } = cluster
  const admin = `http://127.0.0.1:${authorizationServers[0].operatorPort}/admin`
  const source = await createTokenSource(cluster)
  const tokens = []
  for (let count = 0; count < grants; count++) tokens.push(await source.nextToken())
  const browsers = []
  for (let count = 0; count < sessions; count++) {
    const { browser, open } = simulateUser(issuer, ALICE)
    await open(`${issuer}/account/apps`)
    browsers.push(browser)
  }
  const command = ['operator-keys', 'create', '--name', 'leavers', '--only', 'revoke-users', '--json']
  const { operator_key: key } = await valetkey(command)
  const places = resourceServers.flatMap(({ url }) => tokens.map((token) => ({ url, token })))
  // Twice: the second request is served from the cache.
  for (let time = 0; time < 2; time++) await inTurns(places, expectAccepted)
  const isSignedIn = async (browser) => (await browser.open(`${issuer}/account/apps`)).url.pathname === '/account/apps'
  const before = await countOf(browsers, isSignedIn)

  const { status } = await post(`${admin}/global-token-revocation`, key, {
    sub_id: { format: 'opaque', id: source.userId }
  })
  const respondedAt = performance.now()
  /** For each token at each API: when the last request began that was accepted, after the response. */
  const latest = await inTurns(places, async ({ url, token }) => {
    let last = 0
    for (;;) {
      const beganAt = performance.now()
      if ((await list(url, token)) === 401) return last
      last = beganAt - respondedAt
    }
  })
  const signedIn = await countOf(browsers, isSignedIn)
  const others = await Promise.all(['users', 'grants', 'audit', 'clients'].map((path) => get(`${admin}/${path}`, key)))
  const p99 = percentile(latest, 0.99)
  const accepted = latest.filter((one) => one > 0).length
  console.log(
    [
      `${grants} grants, each cached at ${resourceServers.length} APIs; ${before} sessions; the response was ${status}`,
      `accepted after the response: ${accepted} of ${latest.length}; p99 ${p99.toFixed(1)} ms, longest ${percentile(latest, 1).toFixed(1)} ms`,
      `sessions that are left: ${signedIn}`,
      `other routes with the key: ${others.join(', ')}`
    ].join('\n')
  )
  return status === 204 && p99 <= GATE_MS && signedIn === 0 && others.every((one) => one === 403)
}

/** Runs a task for each item, 32 at a time. @returns the results in the order of the items */
async function inTurns(items, task) {
  const results = Array(items.length)
  let next = 0
  const worker = async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await task(items[at])
  }
  await Promise.all(Array.from({ length: 32 }, worker))
  return results
}

async function countOf(items, holds) {
  return (await Promise.all(items.map(holds))).filter(Boolean).length
}

async function expectAccepted({ url, token }) {
  const status = await list(url, token)
  if (status !== 200) throw new Error(`${url} responded ${status} before the call`)
}

async function list(url, token) {
  const response = await fetch(`${url}/v1/files?page_size=1`, { headers: { authorization: `Bearer ${token}` } })
  await response.arrayBuffer()
  return response.status
}

async function get(url, key) {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
  await response.arrayBuffer()
  return response.status
}

async function post(url, key, body) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
}

function percentile(numbers, part) {
  const sorted = [...numbers].sort((one, other) => one - other)
  return sorted[Math.ceil(sorted.length * part) - 1]
}
