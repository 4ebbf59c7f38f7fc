// Starts several processes of each service on one Postgres and one Redis, as in a deployment. `stop` ends them all.
import { kill } from 'node:process'
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

/** @import { Ports, Service } from '../../packages/dev-stack/lib/services/start-service.mjs' */
/** @import { CommandLine } from '../../packages/dev-stack/lib/start/command-lines.mjs' */
/** @import { TcpProxy } from './stores/tcp-proxy.mjs' */
/** @typedef {NodeJS.ProcessEnv} Settings */
/** @typedef {Awaited<ReturnType<typeof startCluster>>} Cluster */
/** @typedef {Cluster['authorizationServers'][number]} AuthorizationServerProcess */
/**
 * @typedef {object} ClusterOptions
 * @property {number} [authorizationServers]
 * @property {number} [resourceServers]
 * @property {number} [cacheSeconds] 0 turns the cache off
 * @property {string} [logLevel] default: `warn`
 * @property {Settings} [settings] additional variables for each authorization server
 * @property {Settings} [apiSettings] the same for each resource server
 */

const RESOURCE = 'https://files.example'

/**
 * Resource server `n` introspects at authorization server `n` (modulo their number) through its own proxy. Each
 * authorization server also has a proxy before Postgres and before Redis.
 * @param {ClusterOptions} options
 */
export async function startCluster(options = {}) {
  const { authorizationServers = 2, resourceServers = 0, cacheSeconds = 0, logLevel = 'warn' } = options
  const processes = createProcesses()
  const { directory } = makeTestDirectory()
  const counts = { 'authorization-server': 0, 'resource-server': 0 }
  /** @type {TcpProxy[]} */
  const proxies = []
  /** @type {ReturnType<typeof connectPostgres> | undefined} */
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
    const stores = { databaseUrl: databaseUrls[0], redisUrl }
    // One user opens more grants here than a person does.
    const shared = { ...environment, COOKIE_KEYS: randomSecret(), LIMITS_FACTOR: '1000', ...options.settings }
    const servers = []
    for (const port of ports) servers.push(await startAuthorizationServer(port, stores, shared))
    const [first = await Promise.reject(new Error('a cluster has an authorization server'))] = servers
    const ofApis = { ...environment, ...options.apiSettings }
    const settings = resourceServers > 0 ? await resourceSettings(ofApis, databaseUrls[1], commands.valetkey) : {}
    const apis = []
    for (let index = 0; index < resourceServers; index++)
      apis.push(await startResourceServer(servers[index % servers.length] ?? first, settings))
    const connected = connectPostgres(databaseUrls[0], { connections: 2 })
    database = connected
    return {
      /** Public address of the first authorization server. The others have the same issuer. */
      issuer,
      resource: RESOURCE,
      redisUrl,
      /** The Postgres server, for databases of a test. */
      postgresUrl,
      /**
       * Runs SQL in the database of the authorization server.
       * @template {Record<string, unknown>} Row
       * @param {string} text
       * @param {readonly unknown[]} [values]
       * @returns {Promise<Row[]>}
       */
      query: (text, values = []) => connected.query({ name: '', text, values }),
      authorizationServers: servers,
      resourceServers: apis,
      /**
       * Starts another process with additional variables, without waiting until it is ready.
       * @param {Settings} changes
       */
      addAuthorizationServer: async (changes) =>
        startAuthorizationServer(await freePort(), stores, { ...shared, ...changes }, false),
      /** @param {Settings} changes */
      addResourceServer: (changes) => startResourceServer(first, { ...settings, ...changes }, false),
      ...commands,
      stop
    }
  } catch (error) {
    await stop()
    throw error
  }

  /**
   * @param {string | number} target a URL or a port
   * @param {RegExp} [counted]
   */
  async function proxyTo(target, counted) {
    const proxy = await startTcpProxy(typeof target === 'number' ? target : Number(new URL(target).port), counted)
    proxies.push(proxy)
    return proxy
  }

  /**
   * @param {number} publicPort
   * @param {{ databaseUrl: string, redisUrl: string }} stores
   * @param {Settings} settings
   */
  async function startAuthorizationServer(publicPort, { databaseUrl, redisUrl }, settings, waits = true) {
    const ports = { ...(await freePorts()), PUBLIC_LISTEN: publicPort }
    const postgres = await proxyTo(databaseUrl)
    const redis = await proxyTo(redisUrl)
    const environment = {
      ...settings,
      DATABASE_URL: withPort(databaseUrl, postgres.port),
      REDIS_URL: withPort(redisUrl, redis.port)
    }
    const process = await startNext('authorization-server', { ports, waits, environment })
    const { INTERNAL_LISTEN: internalPort, OPERATOR_LISTEN: operatorPort } = ports
    const server = { publicPort, internalPort, operatorPort, postgres, redis, ...process }
    return Object.assign(server, {
      /**
       * Kills the process, and starts another one with the same addresses.
       * @param {Settings} [changes] additional variables for it
       */
      async crash(changes) {
        kill(server.pid, 'SIGKILL')
        await server.exited
        Object.assign(environment, changes)
        Object.assign(server, await startNext('authorization-server', { ports, waits: true, environment }))
      }
    })
  }

  /**
   * @param {Settings} environment
   * @param {string} databaseUrl
   * @param {CommandLine} valetkey
   * @returns {Promise<Settings>}
   */
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

  /**
   * @param {{ internalPort: number }} authorizationServer
   * @param {Settings} settings
   */
  async function startResourceServer({ internalPort }, settings, waits = true) {
    const ports = await freePorts()
    const internal = await proxyTo(internalPort, /POST \/introspect /g)
    const process = await startNext('resource-server', {
      ports,
      waits,
      environment: {
        ...settings,
        INTROSPECTION_URL: `http://127.0.0.1:${internal.port}/introspect`,
        REVOCATIONS_URL: `http://127.0.0.1:${internal.port}/revocations`
      }
    })
    const { PUBLIC_LISTEN: port, OPERATOR_LISTEN: operatorPort } = ports
    return { url: `http://127.0.0.1:${port}`, operatorPort, internal, ...process }
  }

  /**
   * @param {Service} service
   * @param {{ ports: Ports, waits: boolean, environment: Settings }} own
   */
  async function startNext(service, own) {
    counts[service] += 1
    const name = `${service.replace('-', ' ')} ${counts[service]}`
    const { logFile, child, exited } = await startService({ processes, directory, service, name, ...own })
    return { logFile, pid: Number(child.pid), exited }
  }
}

/**
 * @param {string} url
 * @param {number} port
 */
const withPort = (url, port) => Object.assign(new URL(url), { port: String(port) }).href
