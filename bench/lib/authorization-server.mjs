// Starts one authorization server with its own stores for a benchmark.
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import { commandLines } from '../../packages/dev-stack/lib/checkout.mjs'
import { freePort } from '../../packages/dev-stack/lib/processes/ports.mjs'
import { createProcesses } from '../../packages/dev-stack/lib/processes/processes.mjs'
import { nodeProgram } from '../../packages/dev-stack/lib/processes/programs.mjs'
import { makeTestDirectory, removeTestDirectory } from '../../packages/dev-stack/lib/tests/test-directory.mjs'
import { startTestServers } from '../../packages/dev-stack/lib/tests/test-servers.mjs'

const service = fileURLToPath(new URL('../../services/authorization-server/dist/', import.meta.url))
const AUDIENCE = 'http://localhost:4100'

export async function startAuthorizationServer() {
  const processes = createProcesses()
  const { directory } = makeTestDirectory()
  const stop = async () => {
    await processes.stopAll()
    await removeTestDirectory(directory)
  }
  try {
    const stores = await startTestServers(directory, processes)
    const [publicPort, internalPort, operatorPort] = [await freePort(), await freePort(), await freePort()]
    const environment = {
      PATH: process.env.PATH,
      ISSUER: `http://127.0.0.1:${publicPort}`,
      RESOURCE_URL: AUDIENCE,
      PUBLIC_LISTEN: `127.0.0.1:${publicPort}`,
      INTERNAL_LISTEN: `127.0.0.1:${internalPort}`,
      OPERATOR_LISTEN: `127.0.0.1:${operatorPort}`,
      DATABASE_URL: stores.postgresUrl,
      REDIS_URL: stores.redisUrl,
      COOKIE_KEYS: randomBytes(32).toString('hex'),
      LIMITS_FACTOR: '1000000',
      LOG_LEVEL: 'warn'
    }
    const commandLine = async (args, input) => {
      const program = nodeProgram(commandLines['authorization-server'], args)
      const { code, stdout, stderr } = await processes.run({ name: args[0], program, environment, input })
      if (code !== 0) throw new Error(`valetkey ${args.join(' ')} ended with ${code}: ${stderr}`)
      return stdout
    }
    await commandLine(['migrate'])
    const logFile = path.join(directory, 'authorization-server.log')
    const program = nodeProgram(path.join(service, 'main.js'))
    const handle = processes.start({ name: 'authorization server', program, environment, logFile })
    const site = new Pool(environment.ISSUER, { connections: 256 })
    const internal = new Pool(`http://127.0.0.1:${internalPort}`, { connections: 64 })
    await untilReady(`http://127.0.0.1:${operatorPort}/readyz`)

    return {
      pid: handle.child.pid,
      stop,

      /** One introspection of a well-formed, unknown token: the caller is authenticated and the token looked up. */
      async introspection() {
        const created = ['resource-servers', 'create', '--name', 'bench', '--audience', AUDIENCE, '--json']
        const { client_id, client_secret } = JSON.parse(await commandLine(created))
        const { newOpaqueAccessToken } = await import('../../packages/oauth-protocol/dist/index.js')
        const body = `token=${newOpaqueAccessToken(new Date(Date.now() + 3_600_000), randomBytes)}`
        const authorization = `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`
        return () => send(internal, '/introspect', { authorization }, body, 200)
      },

      /**
       * One sign-in with a wrong password, as a browser sends it. A 503 of a full queue counts as well.
       * @param importedHash of the user; by default the user is created here, with argon2id
       */
      async failingSignIn(importedHash) {
        await createAlice(commandLine, directory, importedHash)
        const page = await site.request({ path: '/login', method: 'GET' })
        const cookie = String(page.headers['set-cookie']).split(';')[0]
        const csrfToken = /name="csrf_token" value="([^"]+)"/.exec(await page.body.text())?.[1]
        const body = `csrf_token=${csrfToken}&username=alice&password=wrong`
        const headers = { cookie, origin: environment.ISSUER, 'sec-fetch-site': 'same-origin' }
        return () => send(site, '/login', headers, body, 422, 503)
      }
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function createAlice(commandLine, directory, importedHash) {
  if (importedHash === undefined) {
    await commandLine(['users', 'create', 'alice', '--password-stdin'], 'correct horse battery staple')
    return
  }
  const file = path.join(directory, 'users.ndjson')
  await writeFile(file, JSON.stringify({ username: 'alice', password_hash: importedHash }))
  await commandLine(['users', 'import', file])
}

async function send(pool, address, headers, body, ...expected) {
  const answer = await pool.request({
    path: address,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body
  })
  const text = await answer.body.text()
  if (!expected.includes(answer.statusCode)) throw new Error(`${address} responded with ${answer.statusCode}: ${text}`)
}

async function untilReady(url) {
  for (let attempt = 0; attempt < 100; attempt++) {
    const ready = await fetch(url).catch(() => undefined)
    if (ready?.ok) return
    await wait(100)
  }
  throw new Error(`${url} was not ready in ten seconds`)
}
