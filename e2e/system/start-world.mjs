// Starts a fleet with stores, a user, a client and load. See start-world.d.mts for the result.
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

const RESOURCE = 'https://files.example'
// Some files to list; their content does not matter.
const FILES = path.join(checkout, 'docs/adr')

export const hasRedisServer = () => findRedisServer() !== undefined
export const redisCommand = findRedisServer

/**
 * @param startStore starts another Redis with `{ directory, processes, command }`
 * @param startDatabase starts another Postgres with `{ directory, processes }`
 */
export async function startWorld({
  settings = {},
  withFiles = true,
  size = 2,
  cacheSeconds = 0,
  startStore,
  startDatabase = startPostgres,
  mains
} = {}) {
  const workshop = openWorkshop()
  const { directory, processes } = workshop
  let fleet
  let postgres
  const close = async () => {
    await fleet?.close()
    await workshop.close()
    await postgres?.close?.()
  }
  try {
    postgres = await startDatabase({ directory, processes })
    const command = findRedisServer()
    if (command === undefined) throw new Error('This needs redis-server or valkey-server on PATH.')
    const redis = await (startStore ?? oneRedis)({ directory, processes, command })
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

/** Creates another credential of the same API. */
export async function newResourceServer(valetkey) {
  const { client_id: id, client_secret: secret } = await registerResourceServer(valetkey, RESOURCE)
  return { INTROSPECTION_CLIENT_ID: id, INTROSPECTION_CLIENT_SECRET: secret }
}

async function registerApp(valetkey) {
  return { userId: await registerUser(valetkey), ...(await registerClient(valetkey)), ...ALICE }
}

/** A separate server, because a test that stops it must not affect other tests. */
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
