import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { buildLogger } from '@valetkey/service-kit'
import { type App, buildApp } from '../../src/app.js'
import { type EventStream, openEventStream } from '../../src/feed/event-stream.js'
import type { feedRoutes } from '../../src/feed/routes.js'
import { type Credentials, startTestServer, type TestServer } from '../support/authorization-server.js'
import { type Subscription, startChannel, subscribe } from '../support/event-stream.js'
import { listenOnFreePort } from '../support/raw-connection.js'
import { holdTimers } from '../support/stopped-timers.js'

/** When a server that closes cuts off requests in progress. Without it, only the end of its streams lets it close. */
const CUT_OFF_MS = 6_000
afterAll(holdTimers(CUT_OFF_MS))

let server: TestServer
let resourceServer: Credentials
let apps: App[] = []

beforeAll(async () => {
  server = await startTestServer()
  resourceServer = await server.createResourceServer()
  await startChannel(server)
})
afterEach(async () => {
  await Promise.all(apps.map(({ internalServer }) => internalServer.close()))
  apps = []
})
afterAll(async () => {
  await server.deps.channel.close()
  await server.close()
})

/** The same server with another feed. */
function withFeed(change: Partial<Parameters<typeof feedRoutes>[1]>): TestServer {
  const deps = { ...server.deps, feed: { ...server.deps.feed, ...change } }
  const app = buildApp({ ...server.config, logger: buildLogger('test', 'silent') }, deps)
  apps.push(app)
  return { ...server, ...app, deps }
}

/** A credential store that delays its result; `asked` resolves when it is called. */
function slowAuthentication() {
  let letIn = () => {}
  const gate = new Promise<void>((resolve) => {
    letIn = resolve
  })
  let noteAsked = () => {}
  const asked = new Promise<void>((resolve) => {
    noteAsked = resolve
  })
  let noteAnswered = () => {}
  const answered = new Promise<void>((resolve) => {
    noteAnswered = resolve
  })
  const { findWithSecret } = server.deps.feed.resourceServers
  const resourceServers = {
    async findWithSecret(clientId: string) {
      noteAsked()
      await gate
      return findWithSecret(clientId).finally(noteAnswered)
    }
  }
  return { resourceServers, asked, letIn, answered }
}

const commentsIn = (stream: Subscription) => stream.text().split(':\n\n').length - 1

describe('a stream without events', () => {
  test('is kept open by comments beyond the time limit for silent connections', async () => {
    const app = withFeed({ keepAliveMs: 40 })
    app.internalServer.server.timeout = 300
    const stream = await subscribe(app, resourceServer)
    // Thirty times 40 ms: four times the time-out.
    while (commentsIn(stream) < 30 && !stream.response.destroyed) await sleep(5)
    expect(stream.response.destroyed).toBe(false)
    expect((await stream.next()).event).toBe('opened')
  })

  test('is closed at that time limit without comments', async () => {
    const app = withFeed({ keepAliveMs: 60_000 })
    app.internalServer.server.timeout = 300
    await (await subscribe(app, resourceServer)).ended
  })

  test('gets several comments within the time limit of every listener', () => {
    expect(server.deps.feed.keepAliveMs * 3).toBeLessThan(server.internalServer.server.timeout)
  })
})

describe('a subscriber that does not read', () => {
  test('is disconnected when more than 1 MiB waits for it; other streams continue', async () => {
    const streams: EventStream[] = []
    let closed = 0
    const channel = {
      ...server.deps.channel,
      subscribe(_credential: unknown, _mark: unknown, open: (onClose: () => void) => EventStream) {
        streams.push(open(() => (closed += 1)))
        send(0)
      }
    }
    const send = (count: number) => {
      const data = { sub: `${count}${'x'.repeat(50_000)}` }
      for (const stream of streams) stream.send({ stream: 'any', event: 'revoked', id: `any-${count}`, data })
    }
    const app = withFeed({ channel })
    const [reader, sleeper] = [await subscribe(app, resourceServer), await subscribe(app, resourceServer)]
    sleeper.response.pause()
    // The kernel takes several megabytes before anything waits here.
    for (let count = 1; closed === 0; count++) {
      send(count)
      while ((await reader.next()).id !== `any-${count}`);
    }
    expect(streams).toHaveLength(2)
    send(-1)
    while ((await reader.next()).id !== 'any--1');
    expect([closed, reader.response.destroyed]).toEqual([1, false])
    sleeper.request.destroy()
    reader.request.destroy()
  })

  test('does not delay the end of its stream', async () => {
    const app = withFeed({})
    let isCut = false
    app.internalServer.get('/full', { config: { routeGroup: 'feed' } }, async (_request, reply) => {
      const stream = openEventStream(reply, { keepAliveMs: 60_000, onClose: () => (isCut = true) })
      const data = { text: 'x'.repeat(60_000) }
      while (reply.raw.writableLength === 0) {
        stream.send({ stream: 'any', event: 'revoked', id: 'any', data })
        await new Promise((resolve) => setImmediate(resolve))
      }
      stream.end()
      return reply
    })
    const socket = connect(await listenOnFreePort(app.internalServer), '127.0.0.1').pause()
    socket.on('error', () => {})
    socket.write('GET /full HTTP/1.1\r\nHost: x\r\n\r\n')
    while (!isCut) await sleep(10)
    socket.destroy()
  })
})

describe('a subscriber whose authentication takes long', () => {
  test('gets no stream if it has disconnected meanwhile', async () => {
    const { resourceServers, asked, letIn, answered } = slowAuthentication()
    let subscribed = 0
    const channel = { ...server.deps.channel, subscribe: () => (subscribed += 1) }
    const app = withFeed({ resourceServers, channel: channel as never })
    const isGone = new Promise<void>((resolve) => {
      app.internalServer.addHook('onRequest', async (request) => {
        request.raw.socket.once('close', resolve)
      })
    })
    subscribe(app, resourceServer).catch(() => {})
    await asked
    app.internalServer.server.closeAllConnections()
    await isGone
    letIn()
    await answered
    // The route continues in the same turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    expect(subscribed).toBe(0)
  })

  test('gets no stream if the server is closing, and does not delay the close', async () => {
    const { resourceServers, asked, letIn } = slowAuthentication()
    const app = withFeed({ resourceServers })
    const pending = subscribe(app, resourceServer)
    await asked
    const closed = app.internalServer.close()
    while (app.internalServer.server.listening) await sleep(5)
    letIn()
    expect((await pending).status).toBe(503)
    await closed
  })
})

test('a server that closes ends its streams immediately', async () => {
  const app = withFeed({})
  const stream = await subscribe(app, resourceServer)
  await stream.next()
  await app.internalServer.close()
  await stream.ended
})
