import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Environment } from '@valetkey/service-kit'
import { freePort } from '../../../../../packages/dev-stack/lib/processes/ports.mjs'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { atPort, type FailingNetwork, startFailingNetwork } from '../../support/failing-network.js'
import { basic } from '../../support/flow.js'
import { holdingTimers, type ServiceProcess, startServiceProcess } from '../../support/service-process.js'

/** After it, a listener that closes cuts off requests in progress; a moment later the stop continues without it. */
const LISTENER_LIMITS_MS = [6_000, 6_500] as const
/** After it, the process ends with 1. */
const STOP_LIMIT_MS = 15_000
/** The settings of a process that must stop although none of these limits ends anything. */
const WITHOUT_LIMITS = holdingTimers(...LISTENER_LIMITS_MS, STOP_LIMIT_MS)

let server: TestServer
let client: Credentials
let services: ServiceProcess[] = []
let networks: FailingNetwork[] = []

beforeAll(async () => {
  server = await startTestServer()
  client = await server.createClient()
})
afterAll(() => server.close())
afterEach(async () => {
  for (const { child } of services) child.kill('SIGKILL')
  await Promise.all(networks.map((network) => network.close()))
  services = []
  networks = []
})

async function start(change: Environment = {}): Promise<ServiceProcess> {
  const service = await startServiceProcess({
    ISSUER: server.config.issuer,
    RESOURCE_URL: server.config.resourceUrl,
    DATABASE_URL: server.config.databaseUrl,
    DATABASE_DIRECT_URL: server.config.databaseDirectUrl,
    REDIS_URL: process.env.TEST_REDIS_URL ?? `redis://127.0.0.1:${await freePort()}`,
    COOKIE_KEYS: 'a-key-for-tests-of-at-least-32-characters',
    ...holdingTimers(STOP_LIMIT_MS),
    ...change
  })
  services.push(service)
  expect(service.errors()).toBe('')
  return service
}

async function networkTo(url: string): Promise<FailingNetwork> {
  const network = await startFailingNetwork(Number(new URL(url).port))
  networks.push(network)
  return network
}

async function eventsOf(requestId: string | undefined): Promise<string[]> {
  const rows = await server.database.query<{ event: string }>({
    name: 'test_events_of_request',
    text: 'select event from audit_events where request_id = $1',
    values: [requestId]
  })
  return rows.map(({ event }) => event)
}

/** @returns the exit code */
async function stop({ child, exited }: ServiceProcess): Promise<number | null> {
  child.kill('SIGTERM')
  return exited
}

/** A token request that needs no Redis and is refused; the second half of its body can be held back. */
function tokenRequest({ clientId, clientSecret }: Credentials) {
  const body = new URLSearchParams({ grant_type: 'other', client_id: clientId, client_secret: clientSecret }).toString()
  const head = ['POST /token HTTP/1.1', 'Host: x', 'Content-Type: application/x-www-form-urlencoded']
  const start = `${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 20)}`
  return { start, rest: body.slice(20) }
}

/** A request whose head and half of the body the service has read: its 100 Continue response shows that. */
async function openRequest(port: number): Promise<{ socket: Socket; answer: Promise<string>; rest: string }> {
  const { start: head, rest } = tokenRequest(client)
  const socket = connect(port, '127.0.0.1')
  socket.write(head.replace('\r\n', '\r\nExpect: 100-continue\r\n'))
  const [interim] = await once(socket, 'data')
  expect(String(interim)).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  return { socket, answer: text(socket), rest }
}

/** The listener takes no connections any more. */
async function untilClosed(port: number): Promise<void> {
  const isOpen = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true))
      socket.on('error', () => resolve(false))
      socket.unref().once('connect', () => socket.destroy())
    })
  while (await isOpen());
}

describe('SIGTERM', () => {
  test('completes the request in progress, writes its audit event and exits with 0', async () => {
    const service = await start(WITHOUT_LIMITS)
    const { socket, answer, rest } = await openRequest(service.publicPort)
    const stopped = stop(service)
    await untilClosed(service.publicPort)
    await expect(fetch(`http://127.0.0.1:${service.publicPort}/login`)).rejects.toThrow()
    socket.write(rest)
    expect(await answer).toMatch(/^HTTP\/1\.1 400 .*unsupported_grant_type/s)
    expect(await stopped).toBe(0)
    expect(service.log()).toContain('"event":"stopped"')
    const requestId = /\r\nx-request-id: ([^\r]+)/.exec(await answer)?.[1]
    expect(await eventsOf(requestId)).toEqual(['request_refused'])
  })

  test('/readyz reports the shutdown and /metrics responds while a request is in progress', async () => {
    const service = await start(WITHOUT_LIMITS)
    const operator = `http://127.0.0.1:${service.operatorPort}`
    const { socket, answer, rest } = await openRequest(service.publicPort)
    const stopped = stop(service)
    await untilClosed(service.publicPort)
    const readiness = await fetch(`${operator}/readyz`)
    expect([readiness.status, await readiness.json()]).toEqual([503, { status: 'draining', checks: {} }])
    const metrics = await fetch(`${operator}/metrics`)
    expect([metrics.status, await metrics.text()]).toEqual([
      200,
      expect.stringContaining('valetkey_codes_issued_total')
    ])
    socket.write(rest)
    expect(await answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(await stopped).toBe(0)
  })

  test('closes idle connections immediately', async () => {
    const service = await start(WITHOUT_LIMITS)
    const { start: head, rest } = tokenRequest(client)
    const socket = connect(service.publicPort, '127.0.0.1')
    socket.write(head + rest)
    await once(
      socket.on('data', () => {}),
      'data'
    )
    expect(await stop(service)).toBe(0)
  })

  test('ends the streams of the revocation feed immediately', async () => {
    const service = await start(WITHOUT_LIMITS)
    const resourceServer = await server.createResourceServer()
    const open = () => fetch(`http://127.0.0.1:${service.internalPort}/revocations`, { headers: basic(resourceServer) })
    let stream = await open()
    // Until the process has received its first pulse.
    while (stream.status === 503) stream = await open()
    expect(stream.status).toBe(200)
    const read = stream.text().catch(() => '')
    expect(await stop(service)).toBe(0)
    expect(await read).toMatch(/^event: opened\n/)
    expect(service.log()).toContain('"event":"revocation_channel_ready"')
    expect(service.log()).not.toContain('revocation_channel_lost')
  })

  test('closes the connection of a slow sender and still writes the audit events', async () => {
    const service = await start()
    const { start: head, rest } = tokenRequest(client)
    const slow = connect(service.publicPort, '127.0.0.1')
    slow.on('error', () => {})
    slow.write(head)
    const quick = await fetch(`http://127.0.0.1:${service.publicPort}/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: tokenRequest(client).start.split('\r\n\r\n')[1] + rest
    })
    expect(await stop(service)).toBe(0)
    slow.destroy()
    expect(await eventsOf(quick.headers.get('x-request-id') ?? '')).toEqual(['request_refused'])
  })
})

/** Each step of the stop has its own limit, so that the stop ends without the limit of the whole. */
describe('SIGTERM ends the process with 0 by the limits of the steps', () => {
  test('while Redis cannot be reached', async () => {
    expect(await stop(await start({ REDIS_URL: `redis://127.0.0.1:${await freePort()}` }))).toBe(0)
  })

  test.each(['freeze', 'cut'] as const)('while Postgres is unreachable and audit events wait (%s)', async (how) => {
    const network = await networkTo(server.config.databaseUrl)
    const service = await start({ DATABASE_URL: atPort(server.config.databaseUrl, network.port) })
    const refuse = (name: string) =>
      fetch(`http://127.0.0.1:${service.publicPort}/token`, {
        method: 'POST',
        body: new URLSearchParams({ client_id: client.clientId, client_secret: client.clientSecret, grant_type: name })
      })
    expect((await refuse('other')).status).toBe(400)
    network[how]()
    expect(await stop(service)).toBe(0)
    expect(service.log()).toContain('"event":"request_refused"')
  })
})

test('a port in use ends the start with 1 and one line', async () => {
  const first = await start()
  const second = await startServiceProcess({
    ISSUER: server.config.issuer,
    RESOURCE_URL: server.config.resourceUrl,
    DATABASE_URL: server.config.databaseUrl,
    DATABASE_DIRECT_URL: server.config.databaseDirectUrl,
    REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
    COOKIE_KEYS: 'a-key-for-tests-of-at-least-32-characters',
    PUBLIC_LISTEN: `127.0.0.1:${first.publicPort}`
  })
  services.push(second)
  expect(await second.exited).toBe(1)
  expect(second.errors()).toMatch(/^could not start: .*EADDRINUSE[^\n]*\n$/)
})
