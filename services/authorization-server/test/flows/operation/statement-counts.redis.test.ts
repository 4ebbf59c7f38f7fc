import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { newOpaqueToken } from '@valetkey/oauth-protocol'
import { countArrivals } from '../../support/arrivals.js'
import { type Credentials, REDIRECT_URI, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { type CountedServer, type Sent, startCountedServer } from '../../support/counted-server.js'
import { authorizeUrl, basic, bodyCredentials, PASSWORD } from '../../support/flow.js'
import { openConsent } from '../../support/pages.js'
import { holdTimers, stopMonotonicClock } from '../../support/stopped-timers.js'

let server: TestServer
let counted: CountedServer
let client: Credentials
let resourceServer: Credentials
let browser: Browser

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient({ consent: 'remember' })
  resourceServer = await server.createResourceServer()
  const opened = await openConsent(server, client.clientId)
  browser = opened.browser
  await browser.submitOnly(opened.page, { decision: 'allow' })
  counted = await startCountedServer(server)
  await warmUp()
})
afterAll(async () => {
  await counted.close()
  await server.close()
})

type Operation = () => Promise<Response>

const post = (url: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', body: new URLSearchParams(form), headers })

const token = (form: Record<string, string>, credentials = client) =>
  post(`${counted.publicUrl}/token`, { ...bodyCredentials(credentials), ...form })

const exchange = (code: string, credentials = client) =>
  token({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }, credentials)

const introspect = (accessToken: string, credentials = resourceServer) =>
  post(`${counted.internalUrl}/introspect`, { token: accessToken }, basic(credentials))

const cookies = () => [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')

async function authorize(): Promise<Response> {
  const { pathname, search } = new URL(authorizeUrl(client.clientId))
  return fetch(counted.publicUrl + pathname + search, { headers: { cookie: cookies() }, redirect: 'manual' })
}

const accountPage = () => fetch(`${counted.publicUrl}/account/sessions`, { headers: { cookie: cookies() } })

async function newCode(): Promise<string> {
  let answer = await authorize()
  // The time limits of the service end requests on a slow machine.
  while (answer.status === 503) answer = await authorize()
  return new URL(answer.headers.get('location') ?? '').searchParams.get('code') ?? ''
}

const newTokens = async () =>
  (await (await exchange(await newCode())).json()) as { access_token: string; refresh_token: string }

const wrong = (credentials: Credentials): Credentials => ({
  ...credentials,
  clientSecret: server.config.cookieKeys[0] ?? ''
})
const unknownClient = { clientId: 'unknown', clientSecret: 'none' }

/** Everything once, so that scripts are loaded, connections open, and clients in memory. */
async function warmUp(): Promise<void> {
  const { access_token, refresh_token } = await newTokens()
  await introspect(access_token)
  await token({ grant_type: 'refresh_token', refresh_token })
  await exchange(await newCode(), wrong(client))
  await Promise.all(Array.from({ length: 10 }, () => introspect(access_token)))
}

/** On a busy machine the receipt of changes may be unverified for a moment, and then the cache is not used. */
async function untilInMemory(): Promise<void> {
  const { pathname, search } = new URL(authorizeUrl(client.clientId, { scope: 'none' }))
  const refused = () => fetch(counted.publicUrl + pathname + search, { redirect: 'manual' })
  while ((await counted.during(refused)).sql.length > 0);
}

/** How many of each. */
const countsOf = ({ sql, redis }: Sent) => ({ sql: sql.length, redis: redis.length })

describe('statements and commands of a single request with warm caches', () => {
  test.each<{ name: string; prepare(): Promise<Operation>; status: number; sql: number; redis: number }>([
    {
      name: 'authorize with a session and a remembered consent',
      prepare: async () => authorize,
      status: 303,
      sql: 1,
      redis: 1
    },
    {
      name: 'a page of the account',
      prepare: async () => accountPage,
      status: 200,
      // Session and user; the list of sessions.
      sql: 2,
      redis: 0
    },
    {
      name: 'the sign-in page of a user who is signed in',
      prepare: async () => () =>
        fetch(`${counted.publicUrl}/login`, { headers: { cookie: cookies() }, redirect: 'manual' }),
      status: 303,
      sql: 1,
      redis: 0
    },
    {
      name: 'exchange of a code',
      prepare: async () => exchange.bind(undefined, await newCode()),
      status: 200,
      sql: 1,
      redis: 1
    },
    {
      name: 'refresh',
      prepare: async () => {
        const { refresh_token } = await newTokens()
        return () => token({ grant_type: 'refresh_token', refresh_token })
      },
      status: 200,
      sql: 2,
      redis: 0
    },
    {
      name: 'introspection',
      prepare: async () => introspect.bind(undefined, (await newTokens()).access_token),
      status: 200,
      sql: 1,
      redis: 0
    },
    {
      name: 'introspection of a token that was never issued',
      prepare: async () => () => introspect('vk_at_none'),
      status: 200,
      sql: 0,
      redis: 0
    },
    {
      name: 'exchange with a wrong client secret',
      prepare: async () => exchange.bind(undefined, await newCode(), wrong(client)),
      status: 401,
      sql: 0,
      redis: 1
    },
    {
      name: 'exchange by an unknown client',
      prepare: async () => exchange.bind(undefined, await newCode(), unknownClient),
      status: 401,
      sql: 0,
      redis: 1
    },
    {
      name: 'introspection with a wrong secret',
      prepare: async () => introspect.bind(undefined, (await newTokens()).access_token, wrong(resourceServer)),
      status: 401,
      sql: 0,
      redis: 1
    },
    {
      name: 'exchange of an unknown code',
      prepare: async () => exchange.bind(undefined, newOpaqueToken('authorizationCode', randomBytes)),
      status: 400,
      sql: 1,
      redis: 1
    }
  ])('$name: $sql of Postgres, $redis of Redis', async ({ prepare, status, sql, redis }) => {
    // On a busy machine the cache may not be used for a moment. That only adds statements; not twenty times in a row.
    let sent: Sent = { sql: [], redis: [] }
    for (let attempt = 0; attempt < 20; attempt++) {
      const operation = await prepare()
      await untilInMemory()
      sent = await counted.during(async () => expect((await operation()).status).toBe(status))
      if (sent.sql.length <= sql) break
    }
    expect({ ...countsOf(sent), sent }).toEqual({ sql, redis, sent })
  })
})

/**
 * What Redis itself counts for one operation, which is more than goes over the wire: each command within a script, too.
 * Others use the same server and can only add to it, so the least of many is what the operation costs.
 */
async function countedByRedis(prepare: () => Promise<Operation>, expected: number): Promise<number> {
  const processed = async () =>
    Number(/^total_commands_processed:(\d+)/m.exec(await server.redis.info('stats'))?.[1] ?? Number.NaN)
  let least = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < 200 && least > expected; attempt++) {
    const operation = await prepare()
    const before = await processed()
    await operation()
    // The first reading is counted by the second.
    least = Math.min(least, (await processed()) - before - 1)
  }
  return least
}

describe('commands of a single request, counted by Redis (INFO stats, total_commands_processed)', () => {
  test.each<{ name: string; prepare(): Promise<Operation>; commands: number }>([
    // SET of the code.
    { name: 'authorize with a session and a remembered consent', prepare: async () => authorize, commands: 1 },
    // A script, and its own GET, PTTL and SET: Redis counts a script's own calls, too.
    { name: 'exchange of a code', prepare: async () => exchange.bind(undefined, await newCode()), commands: 4 },
    // Two scripts, each with its INCR and PTTL.
    {
      name: 'exchange with a wrong client secret',
      prepare: async () => exchange.bind(undefined, newOpaqueToken('authorizationCode', randomBytes), wrong(client)),
      commands: 4
    }
  ])('$name: $commands', async ({ prepare, commands }) => {
    expect(await countedByRedis(prepare, commands)).toBe(commands)
  })
})

describe('100 concurrent requests share statements', () => {
  const HUNDRED = Array.from({ length: 100 })
  // Two statements are in progress, and the batch of waiting requests is sent after a response. Late requests may need more.
  const ENOUGH = 2 + 2 + 2

  const introspections = async (): Promise<Operation[]> => {
    const { access_token } = await newTokens()
    return HUNDRED.map(() => () => introspect(access_token))
  }
  const exchanges = async (): Promise<Operation[]> =>
    (await Promise.all(HUNDRED.map(newCode))).map((code) => () => exchange(code))

  test.each<{ name: string; prepare(): Promise<Operation[]>; status: number }>([
    { name: 'introspections', prepare: introspections, status: 200 },
    { name: 'exchanges', prepare: exchanges, status: 200 },
    { name: 'authorizations', prepare: async () => HUNDRED.map(() => authorize), status: 303 }
  ])('$name: only a few statements, even if Postgres is slow', async ({ prepare, status }) => {
    // On a busy machine requests may come late, one by one; not three times in a row.
    const counts: number[] = []
    while (counts.length < 3 && !counts.some((count) => count <= ENOUGH)) counts.push(await together(prepare, status))
    expect(Math.min(...counts)).toBeLessThanOrEqual(ENOUGH)
  })

  async function together(prepare: () => Promise<Operation[]>, status: number): Promise<number> {
    const operations = await prepare()
    await untilInMemory()
    let answers: Response[] = []
    let whileHeld = 0
    const arrivals = countArrivals()
    // After 50 ms, the next batch would not wait for a statement any more; after 2.5 s, the statement would fail.
    const letTimePass = [stopMonotonicClock().restart, holdTimers(50, 2_500)]
    const { sql } = await counted.during(async () => {
      counted.holdAnswers()
      const sent = operations.map((operation) => operation())
      await arrivals.until(sent.length)
      whileHeld = counted.sent().sql.length
      counted.releaseAnswers()
      answers = await Promise.all(sent)
    })
    for (const each of [...letTimePass, arrivals.stop]) each()
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([status]))
    return Math.max(whileHeld, sql.length)
  }
})
