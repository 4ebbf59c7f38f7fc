// Starts a fleet with stores, a user, a client and load.
import path from 'node:path'
import { checkout } from '../../packages/dev-stack/lib/checkout.mjs'
import { prepareDatabases } from '../../packages/dev-stack/lib/services/prepare-databases.mjs'
import {
  ALICE,
  registerClient,
  registerResourceServer,
  registerUser
} from '../../packages/dev-stack/lib/services/register.mjs'
import { randomSecret } from '../../packages/dev-stack/lib/start/secrets.mjs'
import { startEmbeddedPostgres } from '../../packages/dev-stack/lib/stores/embedded-postgres.mjs'
import { findRedisServer, startRedis } from '../../packages/dev-stack/lib/stores/redis.mjs'
import { createFlows } from './load/flows.mjs'
import { startFleet } from './services/start-fleet.mjs'
import { openWorkshop } from './workshop.mjs'

/** @import { Processes } from '../../packages/dev-stack/lib/processes/processes.mjs' */
/** @import { CommandLine } from '../../packages/dev-stack/lib/start/command-lines.mjs' */
/** @import { Service } from '../../packages/dev-stack/lib/services/start-service.mjs' */
/** @import { Flows } from './load/flows.mjs' */
/** @import { Fleet } from './services/start-fleet.mjs' */
/** @import { RedisTools } from './stores/redis-servers.mjs' */
/** @import { Tools } from './workshop.mjs' */
/** @typedef {Awaited<ReturnType<typeof startPostgres>>} Database */
/** @typedef {{ url: string, settings?: NodeJS.ProcessEnv }} Store */

/**
 * @template {Store} [Redis=Store]
 * @template {{ url: string, close?(): Promise<void> }} [Postgres=Database]
 * @typedef {object} WorldOptions
 * @property {NodeJS.ProcessEnv} [settings] of each authorization server; `DRAIN_DELAY` also of each resource server
 * @property {boolean} [withFiles]
 * @property {number} [size] the number of processes of each service
 * @property {number} [cacheSeconds]
 * @property {(tools: RedisTools) => Promise<Redis>} [startStore] starts another Redis
 * @property {(tools: Tools) => Promise<Postgres>} [startDatabase] starts another Postgres
 * @property {Partial<Record<Service, string>>} [mains] the programs of another release
 */

/**
 * @template {Store} [Redis=Store]
 * @template {{ url: string, close?(): Promise<void> }} [Postgres=Database]
 * @typedef {object} World
 * @property {Fleet} fleet
 * @property {Flows} flows
 * @property {Awaited<ReturnType<typeof registerApp>>} app
 * @property {Redis} redis
 * @property {Postgres} postgres
 * @property {[string, string]} databaseUrls of the authorization server and of the resource server
 * @property {string} resource
 * @property {string} directory
 * @property {Processes} processes
 * @property {CommandLine} valetkey
 * @property {CommandLine} valetkeyFiles
 * @property {() => Promise<void>} close
 */

const RESOURCE = 'https://files.example'
// Some files to list; their content does not matter.
const FILES = path.join(checkout, 'docs/adr')

/** The path of the Redis server, which is required. */
export function redisCommand() {
  const command = findRedisServer()
  if (command === undefined) throw new Error('This needs redis-server or valkey-server on PATH.')
  return command
}

/**
 * @template {Store} [Redis=Store]
 * @template {{ url: string, close?(): Promise<void> }} [Postgres=Database]
 * @param {WorldOptions<Redis, Postgres>} [options]
 * @returns {Promise<World<Redis, Postgres>>}
 */
export async function startWorld(options = {}) {
  const { settings = {}, withFiles = true, size = 2, cacheSeconds = 0, mains = {} } = options
  const startStore = /** @type {(tools: RedisTools) => Promise<Redis>} */ (options.startStore ?? oneRedis)
  const startDatabase = /** @type {(tools: Tools) => Promise<Postgres>} */ (options.startDatabase ?? startPostgres)
  const workshop = openWorkshop()
  const { directory, processes } = workshop
  /** @type {Fleet | undefined} */
  let fleet
  /** @type {Postgres | undefined} */
  let postgres
  const close = async () => {
    await fleet?.close()
    await workshop.close()
    await postgres?.close?.()
  }
  try {
    postgres = await startDatabase({ directory, processes })
    const redis = await startStore({ directory, processes, command: redisCommand() })
    const environment = { PATH: process.env.PATH, LOG_LEVEL: 'warn' }
    const { databaseUrls: urls, ...commands } = await prepareDatabases(postgres.url, environment, processes)
    fleet = await startFleet({
      directory,
      processes,
      size,
      mains,
      resource: RESOURCE,
      settings: {
        'authorization-server': {
          DATABASE_URL: urls[0],
          REDIS_URL: redis.url,
          COOKIE_KEYS: randomSecret(),
          // One user opens more grants here than a person does.
          LIMITS_FACTOR: '1000',
          ...redis.settings,
          ...settings
        },
        'resource-server': {
          RESOURCE_DATABASE_URL: urls[1],
          PAGE_TOKEN_KEYS: randomSecret(),
          INTROSPECTION_CACHE_TTL: String(cacheSeconds),
          ...(settings.DRAIN_DELAY && { DRAIN_DELAY: settings.DRAIN_DELAY })
        }
      },
      ...(withFiles && {
        async registerResourceServer() {
          return newResourceServer(commands.valetkey)
        }
      })
    })
    const app = await registerApp(commands.valetkey)
    if (withFiles) await commands.valetkeyFiles(['import', '--owner', app.userId, FILES])
    const flows = createFlows({ issuer: fleet.issuer, filesUrl: fleet.filesUrl, ...app })
    return {
      ...commands,
      fleet,
      flows,
      app,
      redis,
      postgres,
      databaseUrls: urls,
      resource: RESOURCE,
      directory,
      processes,
      close
    }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Creates another credential of the same API.
 * @param {CommandLine} valetkey
 */
export async function newResourceServer(valetkey) {
  const { client_id: id, client_secret: secret } = await registerResourceServer(valetkey, RESOURCE)
  return { INTROSPECTION_CLIENT_ID: id, INTROSPECTION_CLIENT_SECRET: secret }
}

/** @param {CommandLine} valetkey */
async function registerApp(valetkey) {
  return { userId: await registerUser(valetkey), ...(await registerClient(valetkey)), ...ALICE }
}

/**
 * A separate server, because a test that stops it must not affect other tests.
 * @param {Tools} tools
 */
async function startPostgres({ directory, processes }) {
  const options = {
    directory: path.join(directory, 'postgres'),
    logFile: path.join(directory, 'postgres.log'),
    password: randomSecret(),
    durable: false,
    processes
  }
  let server = await startEmbeddedPostgres(options)
  const url = server.url('postgres')
  return {
    url,
    stop: () => server.process.stop(),
    async comeBack() {
      server = await startEmbeddedPostgres({ ...options, port: Number(new URL(url).port) })
    }
  }
}

/** @param {RedisTools} tools */
async function oneRedis({ directory, processes, command }) {
  const { url } = await startRedis({
    command,
    directory: path.join(directory, 'redis'),
    logFile: path.join(directory, 'redis.log'),
    password: randomSecret(),
    durable: false,
    processes
  })
  return { url }
}
