// Starts several processes of each service on one Postgres and one Redis, as in a deployment. `stop` ends them all.
import path from 'node:path'
import { programs } from '../../packages/dev-stack/lib/checkout.mjs'
import { freePort } from '../../packages/dev-stack/lib/processes/ports.mjs'
import { createProcesses } from '../../packages/dev-stack/lib/processes/processes.mjs'
import { serviceProgram } from '../../packages/dev-stack/lib/processes/programs.mjs'
import { makeDatabases, migrateDatabases } from '../../packages/dev-stack/lib/services/make-databases.mjs'
import { waitUntilReady } from '../../packages/dev-stack/lib/start/readiness.mjs'
import { randomSecret } from '../../packages/dev-stack/lib/start/secrets.mjs'
import { makeTestDirectory, removeTestDirectory } from '../../packages/dev-stack/lib/tests/test-directory.mjs'
import { startTestServers } from '../../packages/dev-stack/lib/tests/test-servers.mjs'
import { connectPostgres } from '../../packages/service-kit/dist/index.js'
import { startTcpProxy } from './stores/tcp-proxy.mjs'

const RESOURCE = 'https://files.example'

/**
 * Resource server `n` introspects at authorization server `n` (modulo their number) through its own proxy. Each
 * authorization server also has a proxy before Postgres and before Redis. See start-cluster.d.mts for the result.
 */
export async function startCluster(options = {}) {
  const {
    authorizationServers = 2,
    resourceServers = 0,
    cacheSeconds = 0,
    logLevel = 'warn',
    settings: own = {}
  } = options
  const processes = createProcesses()
  const { directory } = makeTestDirectory()
  const proxies = []
  let database
  const stop = async () => {
    await database?.close()
    await processes.stopAll()
    for (const proxy of proxies) await proxy.close()
    await removeTestDirectory(directory)
  }
  try {
    const { postgresUrl, redisUrl } = await startTestServers(directory, processes)
    if (redisUrl === undefined) throw new Error('This needs redis-server or valkey-server on PATH.')
    const ports = await Promise.all(Array.from({ length: authorizationServers }, freePort))
    const issuer = `http://127.0.0.1:${ports[0]}`
    const { PATH } = process.env
    const addresses = { ISSUER: issuer, RESOURCE_URL: RESOURCE, TRUSTED_PROXIES: '127.0.0.1' }
    const environment = { PATH, ...addresses, LOG_LEVEL: logLevel }
    const databaseUrls = await makeDatabases(postgresUrl)
    const commands = await migrateDatabases(environment, databaseUrls, processes)
    const shared = { ...environment, REDIS_URL: redisUrl, COOKIE_KEYS: randomSecret(), ...own }
    const servers = []
    for (const port of ports)
      servers.push(await startAuthorizationServer(servers.length, port, shared, databaseUrls[0]))
    const apis = []
    let settings
    if (resourceServers > 0) {
      settings = await resourceSettings(environment, databaseUrls[1], commands.valetkey)
      for (let index = 0; index < resourceServers; index++) {
        apis.push(await startResourceServer(index, servers[index % servers.length], settings))
      }
    }
    const more = {
      addAuthorizationServer: async (changes) =>
        startAuthorizationServer(servers.length, await freePort(), { ...shared, ...changes }, databaseUrls[0], false),
      addResourceServer: (changes) => startResourceServer(apis.length, servers[0], { ...settings, ...changes }, false)
    }
    const running = { authorizationServers: servers, resourceServers: apis }
    database = connectPostgres(databaseUrls[0], { connections: 2 })
    const query = (text, values = []) => database.query({ name: '', text, values })
    return { issuer, resource: RESOURCE, redisUrl, query, ...running, ...more, ...commands, stop }
  } catch (error) {
    await stop()
    throw error
  }

  async function proxyTo(port, counted) {
    const proxy = await startTcpProxy(port, counted)
    proxies.push(proxy)
    return proxy
  }

  async function startAuthorizationServer(index, publicPort, settings, databaseUrl, waits = true) {
    const [internalPort, operatorPort] = [await freePort(), await freePort()]
    const [postgres, redis] = await Promise.all([databaseUrl, settings.REDIS_URL].map((url) => proxyTo(portOf(url))))
    const logFile = path.join(directory, `authorization-server-${index + 1}.log`)
    const handle = processes.start({
      name: `authorization server ${index + 1}`,
      program: serviceProgram(programs.authorizationServer),
      environment: {
        ...settings,
        DATABASE_URL: withPort(databaseUrl, postgres.port),
        REDIS_URL: withPort(settings.REDIS_URL, redis.port),
        ...listeners({ PUBLIC: publicPort, INTERNAL: internalPort, OPERATOR: operatorPort })
      },
      logFile
    })
    if (waits) await waitUntilReady(handle, `http://127.0.0.1:${operatorPort}/readyz`)
    const process = { logFile, pid: handle.child.pid, exited: handle.exited }
    return { publicPort, internalPort, operatorPort, postgres, redis, ...process }
  }

  async function resourceSettings(environment, databaseUrl, valetkey) {
    const registration = ['--name', 'files', '--audience', RESOURCE, '--json']
    const credential = await valetkey(['resource-servers', 'create', ...registration])
    return {
      ...environment,
      RESOURCE_DATABASE_URL: databaseUrl,
      PAGE_TOKEN_KEYS: randomSecret(),
      INTROSPECTION_CLIENT_ID: credential.client_id,
      INTROSPECTION_CLIENT_SECRET: credential.client_secret,
      INTROSPECTION_CACHE_TTL: String(cacheSeconds)
    }
  }

  async function startResourceServer(index, authorizationServer, settings, waits = true) {
    const [port, operatorPort] = [await freePort(), await freePort()]
    const internal = await proxyTo(authorizationServer.internalPort, /POST \/introspect /g)
    const logFile = path.join(directory, `resource-server-${index + 1}.log`)
    const handle = processes.start({
      name: `resource server ${index + 1}`,
      program: serviceProgram(programs.resourceServer),
      environment: {
        ...settings,
        INTROSPECTION_URL: `http://127.0.0.1:${internal.port}/introspect`,
        REVOCATIONS_URL: `http://127.0.0.1:${internal.port}/revocations`,
        ...listeners({ PUBLIC: port, OPERATOR: operatorPort })
      },
      logFile
    })
    if (waits) await waitUntilReady(handle, `http://127.0.0.1:${operatorPort}/readyz`)
    const process = { logFile, pid: handle.child.pid, exited: handle.exited }
    return { url: `http://127.0.0.1:${port}`, operatorPort, internal, ...process }
  }
}

const portOf = (url) => Number(new URL(url).port)

const withPort = (url, port) => Object.assign(new URL(url), { port: String(port) }).href

const listeners = (ports) =>
  Object.fromEntries(Object.entries(ports).map(([name, port]) => [`${name}_LISTEN`, `127.0.0.1:${port}`]))
