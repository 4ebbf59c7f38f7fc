// Starts several processes of each service on one Postgres and one Redis, as in a deployment. `stop` ends them all.
import { freePort } from '../../packages/dev-stack/lib/processes/ports.mjs'
import { createProcesses } from '../../packages/dev-stack/lib/processes/processes.mjs'
import { prepareDatabases } from '../../packages/dev-stack/lib/services/prepare-databases.mjs'
import { registerResourceServer } from '../../packages/dev-stack/lib/services/register.mjs'
import { freePorts, startService } from '../../packages/dev-stack/lib/services/start-service.mjs'
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
    const { databaseUrls, ...commands } = await prepareDatabases(postgresUrl, environment, processes)
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
    const ports = { ...(await freePorts()), PUBLIC_LISTEN: publicPort }
    const [postgres, redis] = await Promise.all([databaseUrl, settings.REDIS_URL].map((url) => proxyTo(portOf(url))))
    const { logFile, child, exited } = await startService({
      ...{ processes, directory, ports, waits },
      service: 'authorization-server',
      name: `authorization server ${index + 1}`,
      environment: {
        ...settings,
        DATABASE_URL: withPort(databaseUrl, postgres.port),
        REDIS_URL: withPort(settings.REDIS_URL, redis.port)
      }
    })
    const { INTERNAL_LISTEN: internalPort, OPERATOR_LISTEN: operatorPort } = ports
    return { publicPort, internalPort, operatorPort, postgres, redis, logFile, pid: child.pid, exited }
  }

  async function resourceSettings(environment, databaseUrl, valetkey) {
    const credential = await registerResourceServer(valetkey, RESOURCE)
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
    const ports = await freePorts()
    const internal = await proxyTo(authorizationServer.internalPort, /POST \/introspect /g)
    const { logFile, child, exited } = await startService({
      ...{ processes, directory, ports, waits },
      service: 'resource-server',
      name: `resource server ${index + 1}`,
      environment: {
        ...settings,
        INTROSPECTION_URL: `http://127.0.0.1:${internal.port}/introspect`,
        REVOCATIONS_URL: `http://127.0.0.1:${internal.port}/revocations`
      }
    })
    const { PUBLIC_LISTEN: port, OPERATOR_LISTEN: operatorPort } = ports
    return { url: `http://127.0.0.1:${port}`, operatorPort, internal, logFile, pid: child.pid, exited }
  }
}

const portOf = (url) => Number(new URL(url).port)

const withPort = (url, port) => Object.assign(new URL(url), { port: String(port) }).href
