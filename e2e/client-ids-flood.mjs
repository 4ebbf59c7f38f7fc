// Sends 100,000 different client id URLs to /oauth/authorize, without a session and as one signed-in user, while an app that an
// operator registered gets tokens. Nothing may connect to the named hosts, and memory, Redis and Postgres must stay bounded.
// Needs redis-server. Not run by npm test.
// node e2e/client-ids-flood.mjs [--ids 100000]
import { once } from 'node:events'
import { createServer } from 'node:net'
import { parseArgs } from 'node:util'
import { createApp } from '../packages/dev-stack/lib/client/app.mjs'
import { simulateUser } from '../packages/dev-stack/lib/client/user.mjs'
import { measureStores } from './flood/measure-stores.mjs'
import { startWorld } from './system/start-world.mjs'

const MOST_REDIS_MB = 16
const MOST_PROCESS_MB = 400
const MOST_AUDIT_ROWS = 5_000
/** Fetches of one user in a minute, as docs/limits.md says. */
const USER_FETCHES = 20
const AT_ONCE = 16

const { values } = parseArgs({ options: { ids: { type: 'string', default: '100000' } } })
const ids = Number(values.ids)
if (!Number.isInteger(ids) || ids < 100 || ids > 1_000_000) {
  console.error('--ids is a whole number from 100 to 1000000.')
  process.exit(2)
}

let connections = 0
const listener = createServer((socket) => {
  connections += 1
  socket.destroy()
})
listener.listen(0, '127.0.0.1')
await once(listener, 'listening')
const { port } = listener.address()

const settings = { CLIENT_ID_METADATA: 'open', CLIENT_ID_METADATA_ALLOW_LOOPBACK: 'true' }
const world = await startWorld({ size: 1, withFiles: false, settings })
const problems = []
try {
  const { issuer } = world.fleet
  await getTokens('before')
  const before = await measureStores(world)
  console.log(JSON.stringify(before))
  const anonymous = await sendIds(`${issuer}/oauth/authorize`, ids, () => ({}))
  console.log(`anonymous: ${JSON.stringify(anonymous)}`)
  if (connections > 0) problems.push(`${connections} connections without a session`)
  await getTokens('after the anonymous requests')

  const { browser, open } = simulateUser(issuer, world.app)
  await open(`${issuer}/login`)
  const startedAt = Date.now()
  const signedIn = await sendIds(`${issuer}/oauth/authorize`, Math.ceil(ids / 10), () => ({ cookie: browser.cookie() }))
  const minutes = Math.ceil((Date.now() - startedAt) / 60_000) + 1
  console.log(`signed in: ${JSON.stringify(signedIn)}, ${connections} connections`)
  // Node connects again to another address of the name after a failure.
  if (connections > 2 * USER_FETCHES * minutes) problems.push(`${connections} connections for one user`)
  await getTokens('after the requests of a user')

  const after = await measureStores(world)
  console.log(JSON.stringify(after))
  const rowsOf = ({ tables }, name) => tables.find((table) => table.name === name)?.rows ?? 0
  if (rowsOf(after, 'clients') !== rowsOf(before, 'clients')) problems.push('rows of clients were added')
  if (after.redisMegabytes > MOST_REDIS_MB) problems.push(`Redis holds ${after.redisMegabytes} MB`)
  if (after.auditRows > MOST_AUDIT_ROWS) problems.push(`${after.auditRows} audit rows`)
  for (const { name, mostMegabytes } of after.processes) {
    if (mostMegabytes > MOST_PROCESS_MB) problems.push(`${name} took ${mostMegabytes} MB`)
  }
} catch (error) {
  problems.push(error.stack)
} finally {
  await world.close()
  listener.close()
}
console.log(problems.length === 0 ? 'PASSED' : `FAILED\n${problems.join('\n')}`)
process.exit(problems.length === 0 ? 0 : 1)

/** @returns the number of responses by status */
async function sendIds(endpoint, count, headersOf) {
  const statuses = {}
  let next = 0
  async function send() {
    while (next < count) {
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: `https://localhost:${port}/client/${next++}`,
        redirect_uri: 'https://app.example/callback',
        code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        code_challenge_method: 'S256'
      })
      const response = await fetch(`${endpoint}?${query}`, { redirect: 'manual', headers: headersOf() })
      await response.arrayBuffer()
      statuses[response.status] = (statuses[response.status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, send))
  return statuses
}

/** The whole flow of the app that an operator registered, with a new browser. */
async function getTokens(when) {
  const { fleet, app } = world
  const client = createApp({ ...app, issuer: fleet.issuer })
  const code = await simulateUser(fleet.issuer, app).code(client.authorizeUrl())
  const { status } = await client.exchange(code)
  if (status !== 200) problems.push(`no tokens ${when}, but ${status}`)
}
