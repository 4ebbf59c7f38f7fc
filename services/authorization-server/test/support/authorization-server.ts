import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTestDatabase, createTestRedis } from '@valetkey/dev-stack'
import { hashToken, newOpaqueToken } from '@valetkey/oauth-protocol'
import { buildLogger, type Database, type Environment, type Logger, roleSettings } from '@valetkey/service-kit'
import { type App, buildApp } from '../../src/app.js'
import { cookiePolicy } from '../../src/browser/session/cookies.js'
import { type Config, readConfig } from '../../src/config.js'
import { FEATURES } from '../../src/features.js'
import { hashPassword } from '../../src/platform/passwords/password.js'
import { createClientChangeStore } from '../../src/storage/postgres/client-changes.js'
import type { ClientRegistration } from '../../src/storage/postgres/clients.js'
import { createResourceServerStore, type ResourceServer } from '../../src/storage/postgres/resource-servers.js'
import { createScopeStore, type Scope } from '../../src/storage/postgres/scopes.js'
import type { Redis } from '../../src/storage/redis/redis.js'
import { wire } from '../../src/wire/wire.js'
import { NOTE } from './audit-note.js'
import { Browser } from './browser.js'
import { connectWithoutLimits } from './connect-without-limits.js'
import { insertUser } from './insert-user.js'
import { MIGRATED } from './migrated-database.js'
import { NEW_SCOPE } from './new-scope.js'
import { followingClock } from './postgres-clock.js'

export const ISSUER = 'http://localhost:4000'
/** Names of the cookies of `ISSUER`. */
export const COOKIES = cookiePolicy(ISSUER).names
export const AUDIENCE = 'http://localhost:4100'
export const REDIRECT_URI = 'https://app.example/callback'

export type Credentials = { clientId: string; clientSecret: string }

/** A server with a LISTEN connection caches new registrations a moment after their commit. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(2)
}

/**
 * An authorization server on real stores, called without a network.
 * @param logger for a test that reads the log
 * @param features for a test that replaces one
 */
export async function startTestServer(settings: Environment = {}, logger?: Logger, features = FEATURES) {
  const testDatabase = await createTestDatabase(MIGRATED)
  const testRedis = createTestRedis()
  const config = readConfig({
    ISSUER,
    RESOURCE_URL: AUDIENCE,
    DATABASE_URL: testDatabase.pooledUrl,
    DATABASE_DIRECT_URL: testDatabase.url,
    REDIS_URL: testRedis.url ?? 'redis://emulated',
    COOKIE_KEYS: 'a-key-for-tests-of-at-least-32-characters',
    LOG_LEVEL: 'silent',
    ...settings
  })
  if (testDatabase.pooledUrl !== testDatabase.url) await giveRoleSettings(testDatabase.url)
  const database: Database = followingClock(connectWithoutLimits(testDatabase.pooledUrl, connectionsOf(config)))
  const deps = wire(config, database, testRedis.client, { features, logger })
  const app: App = buildApp({ ...config, logger: logger ?? buildLogger('test', config.logLevel) }, deps)
  await Promise.all([app.publicServer.ready(), app.internalServer.ready(), app.operatorServer.ready()])

  return {
    ...app,
    config,
    deps,
    database,
    redis: testRedis.client as Redis,
    newBrowser: (cookies?: Map<string, string>) => new Browser(app.publicServer, config.issuer, cookies),

    async createUser(username: string, password: string): Promise<string> {
      const userId = randomUUID()
      await insertUser(database, { userId, username, passwordHash: await hashOnce(password), createdAt: new Date() })
      return userId
    },

    async createClient(change: Partial<ClientRegistration> = {}): Promise<Credentials> {
      const clientSecret = newOpaqueToken('clientSecret', randomBytes)
      const client = newRegistration(change)
      const hash = client.type === 'public' ? undefined : hashToken(clientSecret)
      await createClientChangeStore(database).create(client, hash, NOTE)
      await until(async () => (await deps.authorize.clients.find(client.clientId)) !== undefined)
      return { clientId: client.clientId, clientSecret }
    },

    async createScope(name: string, change: Partial<Scope> = {}): Promise<void> {
      await createScopeStore(database).create({ ...NEW_SCOPE, name, title: name, ...change }, NOTE)
      await until(async () => (await deps.scopes.list()).some((scope) => scope.name === name))
    },

    async createResourceServer(
      audience = AUDIENCE,
      api: Pick<ResourceServer, 'title' | 'titleIn' | 'dpop'> = {}
    ): Promise<Credentials> {
      const credentials = { clientId: `rs_${randomUUID()}`, clientSecret: newOpaqueToken('clientSecret', randomBytes) }
      const server = { clientId: credentials.clientId, name: 'files', audience, ...api }
      await createResourceServerStore(database).create(server, hashToken(credentials.clientSecret), NOTE)
      await until(async () => (await deps.feed.resourceServers.findWithSecret(server.clientId)) !== undefined)
      return credentials
    },

    async close() {
      await Promise.all([app.publicServer.close(), app.internalServer.close(), app.operatorServer.close()])
      await Promise.all([deps.audit, ...deps.closeables].map((each) => each.close()))
      await database.close()
      await testRedis.close()
      await testDatabase.drop()
    }
  }
}

const hashes = new Map<string, Promise<string>>()

/** A hash takes 20 ms of a processor, and most users of a test file have the same password. */
function hashOnce(password: string): Promise<string> {
  const hash = hashes.get(password) ?? hashPassword(password)
  hashes.set(password, hash)
  return hash
}

/** The connections of the pool of one process. */
export const connectionsOf = ({ databaseDirectUrl }: Pick<Config, 'databaseDirectUrl'>) => ({
  connections: 10,
  pooled: databaseDirectUrl !== undefined
})

/** Gives the settings that docs/databases.md describes for a pooler, but for this database only. */
async function giveRoleSettings(url: string): Promise<void> {
  const database = connectWithoutLimits(url, { connections: 1 })
  for (const [name, value] of Object.entries(roleSettings('kept by index'))) {
    const text = `alter database ${new URL(url).pathname.slice(1)} set ${name} = '${value}'`
    await database.query({ name: '', text, values: [] })
  }
  await database.close()
}

export type TestServer = Awaited<ReturnType<typeof startTestServer>>

function newRegistration(change: Partial<ClientRegistration>): ClientRegistration {
  return {
    clientId: `client_${randomUUID()}`,
    name: 'Photo Printer',
    type: 'confidential',
    redirectUris: [REDIRECT_URI],
    requiredScopes: ['files.read', 'files.read:images'],
    optionalScopes: [],
    requiresPkce: false,
    issuesRefreshTokens: true,
    consent: 'ask',
    createdAt: new Date(),
    disabled: false,
    verified: false,
    branding: {},
    ...change
  }
}
