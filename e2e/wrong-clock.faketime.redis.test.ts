import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createApp } from '../packages/dev-stack/lib/client/app.mjs'
import { simulateUser } from '../packages/dev-stack/lib/client/user.mjs'
import { movableClock, wrongClock } from './support/fake-clock.js'
import { type Cluster, startCluster } from './system/start-cluster.mjs'

const REDIRECT_URI = 'https://app.example/callback'
const LIFETIME = 3_600
const MOST_OFF = 30
const CUT = 0

type Tokens = { access_token: string; refresh_token: string; expires_in: number }

let cluster: Cluster
let directory: string
let nextCode: () => Promise<string>
let app: Record<string, string>
let asking: Record<string, string>

beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'valetkey-clock-'))
  cluster = await startCluster({ authorizationServers: 1, resourceServers: 1, cacheSeconds: 60, logLevel: 'info' })
  const { valetkey, issuer, resource } = cluster
  const account = { username: 'alice', password: 'correct horse battery staple' }
  await valetkey(['users', 'create', account.username, '--password-stdin', '--json'], { input: account.password })
  const registration = ['--name', 'App', '--redirect-uri', REDIRECT_URI, '--scope', 'files.read']
  app = await valetkey(['clients', 'create', ...registration, '--consent', 'remember', '--json'])
  asking = await valetkey(['resource-servers', 'create', '--name', 'test', '--audience', resource, '--json'])
  const { client_id: clientId = '' } = app
  const start = createApp({ issuer, clientId, redirectUri: REDIRECT_URI, scope: 'files.read' }).authorizeUrl()
  const user = simulateUser(issuer, account)
  await user.code(start)
  nextCode = () => user.code(start)
})
afterAll(async () => {
  await cluster?.stop()
  rmSync(directory, { recursive: true, force: true })
})

const run = <Row extends Record<string, unknown>>(text: string, values: readonly unknown[] = []) =>
  cluster.query<Row>(text, values)

async function until<Value>(what: string, look: () => Promise<Value | undefined>): Promise<Value> {
  const limit = performance.now() + 100_000
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > limit) throw new Error(`it did not come to this: ${what}`)
    await wait(50)
  }
}

async function readiness({ operatorPort }: { operatorPort: number }) {
  const response = await fetch(`http://127.0.0.1:${operatorPort}/readyz`).catch(() => undefined)
  if (response === undefined) return undefined
  return { status: response.status, checks: ((await response.json()) as { checks: Record<string, string> }).checks }
}

const untilReadiness = (server: { operatorPort: number }, status: number, clock: string) =>
  until(`${status}, clock ${clock}`, async () => {
    const found = await readiness(server)
    return found?.status === status && found.checks.clock === clock ? found : undefined
  })

async function exchange(at: string) {
  const form = { grant_type: 'authorization_code', code: await nextCode(), redirect_uri: REDIRECT_URI }
  return post(`${at}/token`, form)
}

async function post(url: string, form: Record<string, string>, headers: Record<string, string> = {}) {
  const credentials = { client_id: app.client_id ?? '', client_secret: app.client_secret ?? '' }
  const body = new URLSearchParams(headers.authorization ? form : { ...form, ...credentials })
  const response = await fetch(url, { method: 'POST', body, headers }).catch(() => undefined)
  // A jump of the clock lets the time limits of connections expire, so they are closed.
  if (response === undefined) return { status: CUT, tokens: {} as Tokens }
  return { status: response.status, tokens: (await response.json()) as Tokens }
}

/** The introspection result of an authorization server with the right clock. */
async function introspect(token: string) {
  const authorization = `Basic ${Buffer.from(`${asking.client_id}:${asking.client_secret}`).toString('base64')}`
  const url = `http://127.0.0.1:${cluster.authorizationServers[0]?.internalPort}/introspect`
  const { tokens } = await post(url, { token }, { authorization })
  return tokens as unknown as { active: boolean; iat: number; exp: number }
}

async function files(url: string, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  return until('an answer over a connection that was not cut', async () => {
    const response = await fetch(`${url}/v1/files`, { headers }).catch(() => undefined)
    await response?.arrayBuffer()
    return response?.status
  })
}

/** Grants, refresh tokens and audit events that must not be deleted, and the tables of access tokens. */
async function kept() {
  const [row] = await run<Record<string, number>>(`select
    (select count(*)::integer from grants where expires_at > now()) as grants,
    (select count(*)::integer from refresh_tokens where expires_at > now()) as refresh_tokens,
    (select count(*)::integer from audit_events) as audit_events,
    (select count(*)::integer from access_tokens where expires_at > now()) as access_tokens`)
  return row ?? {}
}

/** Times written by a process with a wrong clock, and tables created by it. */
async function oddities() {
  const off = (column: string) => `${column} not between now() - interval '1 hour' and now() + interval '30 seconds'`
  return run(`select 'audit event' as what from audit_events where ${off('occurred_at')}
    union all select 'grant' from grants where ${off('created_at')} or ${off('coalesce(last_used_at, now())')}
    union all select 'refresh token' from refresh_tokens where ${off('issued_at')}
    union all select 'access token' from access_tokens
      where ${off('issued_at')} or expires_at > now() + interval '1 hour 30 seconds'
    union all select 'table' from pg_class where relname ~ '^access_tokens_[0-9]+$'
      and to_timestamp(substring(relname from '[0-9]+$')::bigint * 3600)
        not between now() - interval '2 hours' and now() + interval '1 day'`)
}

describe.each(['+400d', '+1h', '-1h', '-400d'])('a process whose clock is off by %s', (offset) => {
  test('does not start and reports why; no data is lost, and the other processes stay ready', async () => {
    const { tokens } = await exchange(cluster.issuer)
    const before = await kept()
    const [authorizationServer, resourceServer] = [
      await cluster.addAuthorizationServer(wrongClock(offset)),
      await cluster.addResourceServer(wrongClock(offset))
    ]
    for (const { exited, logFile } of [authorizationServer, resourceServer]) {
      expect((await exited).code).toBe(1)
      expect(readFileSync(logFile, 'utf8')).toMatch(
        new RegExp(
          `the clock of this machine is \\d+\\.\\d s ${offset.startsWith('+') ? 'ahead of' : 'behind'} that of`
        )
      )
    }
    for (const [name, count] of Object.entries(await kept())) expect(count).toBeGreaterThanOrEqual(before[name] ?? 0)
    expect(await oddities()).toEqual([])
    expect(await introspect(tokens.access_token)).toMatchObject({ active: true })
    for (const right of [...cluster.authorizationServers, ...cluster.resourceServers]) {
      expect(await readiness(right)).toMatchObject({ status: 200 })
    }
  })
})

describe.each([
  { jump: '+400d', timersToo: true },
  { jump: '+1h', timersToo: true },
  { jump: '-1h', timersToo: false },
  { jump: '-400d', timersToo: false }
])('an authorization server whose clock jumps by $jump while it runs', ({ jump, timersToo }) => {
  test('loses no row, issues no token with a wrong expiry, and is not ready until its clock is right', async () => {
    const clock = movableClock(directory, { timersToo })
    const server = await cluster.addAuthorizationServer(clock.environment)
    await untilReadiness(server, 200, 'ok')
    const at = `http://127.0.0.1:${server.publicPort}`
    const { tokens } = await exchange(at)
    const before = await kept()
    // The jump of the timers starts housekeeping. It is complete when this expired grant is deleted.
    const old = `insert into grants (grant_id, client_id, user_id, scope, audience, redirect_uri, code_hash, user_generation,
        client_generation, newest_scope, created_at, expires_at)
      select gen_random_uuid(), 'old', gen_random_uuid(), '{}', 'a', 'r', sha256($1::bytea), 0, 0, 0, now(),
        now() - interval '1 minute'`
    await run(old, [Buffer.from(`${jump} ${Date.now()}`)])

    clock.set(jump)
    const during = await Promise.all(Array.from({ length: 5 }, () => exchange(at)))
    await untilReadiness(server, 503, 'unavailable')
    during.push(...(await Promise.all(Array.from({ length: 5 }, () => exchange(at)))))
    for (const { status, tokens: issued } of during) {
      expect([200, 503, CUT]).toContain(status)
      if (status !== 200) continue
      expect(issued.expires_in).toBeLessThanOrEqual(LIFETIME)
      const { active, exp } = await introspect(issued.access_token)
      expect(active).toBe(true)
      expect(Math.abs(exp - Date.now() / 1_000 - LIFETIME)).toBeLessThan(MOST_OFF)
    }
    if (timersToo) {
      await until('housekeeping has run', async () => {
        const left = await run(`select 1 as one from grants where client_id = 'old'`)
        return left.length === 0 ? true : undefined
      })
    }
    const after = await kept()
    for (const name of Object.keys(before)) expect(after[name]).toBeGreaterThanOrEqual(before[name] ?? 0)
    expect(await oddities()).toEqual([])
    expect(await files(cluster.resourceServers[0]?.url ?? '', tokens.access_token)).toBe(200)
    const refreshed = await post(`${cluster.issuer}/token`, {
      grant_type: 'refresh_token',
      refresh_token: tokens.refresh_token
    })
    expect(refreshed.status).toBe(200)
    expect(readFileSync(server.logFile, 'utf8')).toContain('"clock_wrong"')
    expect(await readiness(cluster.authorizationServers[0] ?? server)).toMatchObject({ status: 200 })

    if (!timersToo) {
      clock.set('+0')
      await untilReadiness(server, 200, 'ok')
    }
    process.kill(server.pid, 'SIGKILL')
    await server.exited
  })
})

test('a resource server whose clock jumps refuses no valid token, and is not ready until its clock is right', async () => {
  const clock = movableClock(directory, { timersToo: false })
  const server = await cluster.addResourceServer(clock.environment)
  await untilReadiness(server, 200, 'ok')
  for (const jump of ['+400d', '+1h', '-1h', '-400d', '+0']) {
    const { tokens } = await exchange(cluster.issuer)
    expect(await files(server.url, tokens.access_token)).toBe(200)
    clock.set(jump)
    expect(await files(server.url, tokens.access_token)).toBe(200)
    expect(await files(server.url, (await exchange(cluster.issuer)).tokens.access_token)).toBe(200)
    await untilReadiness(server, jump === '+0' ? 200 : 503, jump === '+0' ? 'ok' : 'unavailable')
  }
})
