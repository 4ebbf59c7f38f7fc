import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { runDoctor } from '../services/authorization-server/test/support/doctor.js'
import { prepareFailovers, type ReplicatedWorld, startReplicatedWorld } from './system/fail-over.mjs'
import { createFlows, untilWell } from './system/load/flows.mjs'

let world: ReplicatedWorld
let failOver: Awaited<ReturnType<typeof prepareFailovers>>
beforeAll(async () => {
  world = await startReplicatedWorld()
  failOver = await prepareFailovers(world)
})
afterAll(() => world?.close())

describe('the primary of Postgres fails under load, and its standby is promoted', () => {
  test('synchronous: every acknowledged token and ending holds; until then only 503', async () => {
    const result = await failOver({ isSynchronous: true })
    expect(result.before).toMatchObject({ unavailable: 0, failed: [] })
    expect(result.after.failed).toEqual([])
    expect(result.after.unavailable).toBeGreaterThan(0)
    const { lostAccess, lostRefresh, undone, again, second } = result
    expect({ lostAccess, lostRefresh, undone, again, second }).toEqual({
      lostAccess: [],
      lostRefresh: [],
      undone: [],
      again: [],
      second: []
    })
  })

  test('asynchronous: exactly what the standby had not received is lost; lost tokens are refused, and a code has one pair of tokens that works', async () => {
    const result = await failOver({ isSynchronous: false })
    const { replicatedUntil, isolatedAt, killedAt } = result
    const isLate = ({ at }: { at: number }) => at >= replicatedUntil
    expect(result.lostAccess.filter((one) => !isLate(one))).toEqual([])
    expect(result.lostRefresh.filter((one) => !isLate(one))).toEqual([])
    expect(result.undone.filter((one) => !isLate(one))).toEqual([])
    // Their grants are older than the last received commit.
    expect(result.undone.length).toBeGreaterThan(0)
    // Each session may have had one request under way.
    const late = result.answered.filter(({ at }) => at >= isolatedAt && at < killedAt)
    expect(result.lostAccess.length).toBeGreaterThanOrEqual(late.length - 3)
    expect(result.lostRefresh.map(({ status }) => status).filter((status) => status !== 400)).toEqual([])
    expect(result).toMatchObject({ accepted: [], second: [] })
    // Within three seconds, Postgres alone decides, and it has lost the first exchange with its tokens.
    expect(result.again.filter((status) => status !== 200)).toEqual([])
    expect(result.after.failed.filter(({ status }) => status !== 400 && status !== 401)).toEqual([])
  })
})

test('doctor warns while no commit waits for the standby', async () => {
  const { postgres, databaseUrls } = world
  await postgres.addStandby()
  const examine = async () => {
    const { document } = await runDoctor({
      ISSUER: 'http://localhost:4000',
      RESOURCE_URL: 'http://localhost:4100',
      DATABASE_URL: databaseUrls[0],
      REDIS_URL: world.redis.url,
      COOKIE_KEYS: 'a-key-for-tests-of-at-least-32-characters'
    })
    return document.findings.filter(({ check }) => check === 'postgres replication').map(({ severity }) => severity)
  }
  expect(await examine()).toEqual(['warning'])
  await postgres.setSynchronous(true)
  expect(await examine()).toEqual(['ok'])
})

test('synchronous, without the standby: refreshes get 503, files 200; afterwards the repeated refresh succeeds', async () => {
  const { postgres, app, fleet } = world
  await postgres.addStandby()
  await postgres.setSynchronous(true)
  const tokens: Record<string, string>[] = []
  const own = createFlows({ ...app, issuer: fleet.issuer, onTokens: (_form, answered) => tokens.push(answered) })
  const load = own.run([await own.signIn()])
  await untilWell(own.seen)
  await load.stop()
  const { access_token: accessToken = '', refresh_token: refreshToken = '' } = tokens.at(-1) ?? {}
  const refresh = async () => {
    const client = { client_id: app.clientId, client_secret: app.clientSecret }
    const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken, ...client })
    return (await fetch(`${fleet.issuer}/token`, { method: 'POST', body })).status
  }

  postgres.isolateStandby()
  expect(await refresh()).toBe(503)
  const headers = { authorization: `Bearer ${accessToken}` }
  expect((await fetch(`${fleet.filesUrl}/v1/files`, { headers })).status).toBe(200)
  postgres.rejoinStandby()
  while ((await refresh()) === 503);
  expect(await refresh()).toBe(200)
})
