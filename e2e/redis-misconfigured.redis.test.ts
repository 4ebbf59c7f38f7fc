import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { freePort } from '../packages/dev-stack/lib/processes/ports.mjs'
import { createTestDatabase, type TestDatabase } from '../packages/dev-stack/src/index.js'
import { migrate } from '../packages/service-kit/src/index.js'
import { runDoctor } from '../services/authorization-server/test/support/doctor.js'
import {
  type ServiceProcess,
  startServiceProcess
} from '../services/authorization-server/test/support/service-process.js'
import { redisCommand } from './system/start-world.mjs'
import { startOneNodeCluster } from './system/stores/redis-cluster.mjs'
import { type PlainRedis, startPlainRedis } from './system/stores/redis-servers.mjs'
import { openWorkshop, type Workshop } from './system/workshop.mjs'

const MIGRATIONS = path.resolve(import.meta.dirname, '../services/authorization-server/migrations')

let database: TestDatabase
let workshop: Workshop
let redis: PlainRedis
let cluster: PlainRedis
let service: ServiceProcess | undefined

beforeAll(async () => {
  const command = redisCommand()
  database = await createTestDatabase()
  await migrate(database.url, MIGRATIONS)
  workshop = openWorkshop()
  redis = await startPlainRedis({ ...workshop, command, name: 'redis' })
  cluster = await startOneNodeCluster({ ...workshop, command })
})
afterEach(async () => {
  service?.child.kill('SIGKILL')
  await service?.exited
})
afterAll(async () => {
  await workshop?.close()
  await database?.drop()
})

const settings = (redisUrl: string) => ({
  ISSUER: 'http://localhost:4000',
  RESOURCE_URL: 'http://localhost:4100',
  DATABASE_URL: database.url,
  REDIS_URL: redisUrl,
  COOKIE_KEYS: 'a-key-for-tests-of-at-least-32-characters'
})

const events = (running: ServiceProcess, event: string) =>
  running
    .log()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line.event === event && line.dependency === 'redis')

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await wait(20)
}

const operator = async (running: ServiceProcess, route: string) =>
  fetch(`http://127.0.0.1:${running.operatorPort}${route}`)

async function readiness(running: ServiceProcess) {
  const answer = await operator(running, '/readyz')
  const { reasons, checks } = (await answer.json()) as { reasons?: { redis?: string }; checks: { redis: string } }
  return { status: answer.status, redis: checks.redis, reason: reasons?.redis ?? '' }
}

const gauge = async (running: ServiceProcess) =>
  /valetkey_dependency_up\{dependency="redis"\} (\d)/.exec(await (await operator(running, '/metrics')).text())?.[1]

/** A Redis user with these permissions. */
async function asUser(name: string, rights: string): Promise<string> {
  await redis.tell(`ACL SETUSER ${name} reset on >hush ${rights}`)
  return `redis://${name}:hush@127.0.0.1:${redis.port}/0`
}

const asCluster = ({ port }: PlainRedis, password: string) => `redis+cluster://:${password}@127.0.0.1:${port}`

const RIGHTS = '~* resetchannels -@all +@read +@write +@scripting +@connection +@transaction +info +time'

describe('misconfigured at the start: not ready, with the reason on /readyz, in the log, in the metric and in doctor', () => {
  const cases: readonly (readonly [string, () => Promise<string> | string, RegExp])[] = [
    ['a wrong password', () => `redis://:hush@127.0.0.1:${redis.port}/0`, /refuses the password/],
    ['no password', () => `redis://127.0.0.1:${redis.port}/0`, /refuses the password/],
    ['a Redis Cluster', () => cluster.url, /Redis Cluster/],
    ['one server as a Cluster', () => redis.url.replace(/^redis:(.*)\/0$/, 'redis+cluster:$1'), /no Redis Cluster/],
    ['a Cluster, with a wrong password', () => asCluster(cluster, 'hush'), /refuses the password/],
    ['a user who may not run a command', () => asUser('limited', `${RIGHTS} -lpos`), /does not permit/],
    ['a user who may run no scripts', () => asUser('plain', `${RIGHTS} -@scripting`), /does not permit/],
    [
      'Postgres instead of Redis',
      () => `redis://:hush@127.0.0.1:${new URL(database.url).port}/0`,
      /not as a Redis|cannot be/
    ]
  ]
  test.each(cases)('%s', async (_name, url, reason) => {
    const env = settings(await url())
    service = await startServiceProcess(env)
    const running = service
    await until(() => events(running, 'dependency_unavailable').length > 0)
    await until(async () => reason.test((await readiness(running)).reason))
    expect(await readiness(running)).toMatchObject({ status: 503, redis: 'unavailable' })
    expect(events(running, 'dependency_unavailable').at(-1)?.reason).toMatch(reason)
    expect(events(running, 'dependency_unavailable').length).toBeLessThanOrEqual(2)
    expect(await gauge(running)).toBe('0')
    expect(running.log()).not.toContain('hush')
    const { code, document } = await runDoctor(env)
    const fatal = document.findings.filter(({ check, severity }) => check.startsWith('redis') && severity === 'fatal')
    expect(fatal).toContainEqual(expect.objectContaining({ what: expect.stringMatching(reason) }))
    expect(code).toBe(1)
    expect(JSON.stringify(document)).not.toContain('hush')
  })
})

describe('misconfigured while the service runs', () => {
  const cases: readonly (readonly [string, number, RegExp, () => Promise<unknown>, () => Promise<unknown>])[] = [
    [
      'the password is changed: not ready',
      503,
      /refuses the password/,
      async () => {
        await redis.tell('ACL SETUSER changing resetpass >other')
        await redis.tell('CLIENT KILL USER changing')
      },
      () => redis.tell('ACL SETUSER changing resetpass >hush')
    ],
    [
      'a permission is removed: not ready',
      503,
      /does not permit/,
      () => redis.tell('ACL SETUSER changing -lpos'),
      () => redis.tell('ACL SETUSER changing +lpos')
    ],
    [
      'its memory is full: degraded, because refreshes and introspection work without it',
      200,
      /is full/,
      () => redis.tell('CONFIG SET maxmemory 1'),
      () => redis.tell('CONFIG SET maxmemory 0')
    ],
    [
      'it becomes a replica, as in a failover: degraded',
      200,
      /is a replica/,
      async () => redis.tell(`REPLICAOF 127.0.0.1 ${await freePort()}`),
      () => redis.tell('REPLICAOF NO ONE')
    ]
  ]
  test.each(cases)('%s, until it is corrected', async (_name, status, reason, harm, repair) => {
    service = await startServiceProcess(settings(await asUser('changing', RIGHTS)))
    const running = service
    await until(async () => (await readiness(running)).status === 200)
    await harm()
    await until(async () => (await readiness(running)).redis === 'unavailable')
    await until(async () => reason.test((await readiness(running)).reason))
    expect((await readiness(running)).status).toBe(status)
    await until(() => events(running, 'dependency_unavailable').some((line) => reason.test(String(line.reason))))
    expect(await gauge(running)).toBe('0')
    for (let request = 0; request < 5; request++) await readiness(running)
    expect(events(running, 'dependency_unavailable').length).toBeLessThanOrEqual(2)
    await repair()
    // A probe that began before the change may end after it.
    await until(async () => (await readiness(running)).redis === 'ok' && (await gauge(running)) === '1')
    const available = events(running, 'dependency_available').length
    expect([1, 2]).toContain(available)
  })
})
