import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { buildLogger } from '@valetkey/service-kit'
import { type App, buildApp } from '../../src/app.js'
import { openEventStream } from '../../src/feed/event-stream.js'
import type { FeedRouteOptions } from '../../src/feed/routes.js'
import { type Credentials, startTestServer, type TestServer } from '../support/authorization-server.js'
import { type Subscription, startChannel, subscribe } from '../support/event-stream.js'
import { listenOnFreePort } from '../support/raw-connection.js'

const FLOOD = `select pg_notify('valetkey_revocations', json_build_object('sub', i || repeat('x', 7000))::text)
  from generate_series(1, 50) i`

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
function withFeed(change: Partial<FeedRouteOptions>): TestServer {
  const deps = { ...server.deps, feed: { ...server.deps.feed, ...change } }
  const app = buildApp({ ...server.config, logger: buildLogger('test', 'silent') }, deps)
  apps.push(app)
  return { ...server, ...app, deps }
}

/** A credential store that makes its caller wait; `asked` says that somebody does. */
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

describe('a stream on which nothing happens', () => {
  test('is kept alive by comments, beyond the time-out of silent connections', async () => {
    const app = withFeed({ keepAliveMs: 40 })
    app.internalServer.server.timeout = 300
    const stream = await subscribe(app, resourceServer)
    const startedAt = performance.now()
    while (performance.now() - startedAt < 1_000) await sleep(20)
    expect(stream.response.destroyed).toBe(false)
    expect(commentsIn(stream)).toBeGreaterThan(5)
    expect((await stream.next()).event).toBe('opened')
  })

  test('would be cut without them', async () => {
    const app = withFeed({ keepAliveMs: 60_000 })
    app.internalServer.server.timeout = 300
    await (await subscribe(app, resourceServer)).ended
  })

  test('gets them several times in the time-out that every listener has', () => {
    expect(server.deps.feed.keepAliveMs * 3).toBeLessThan(server.internalServer.server.timeout)
  })
})

describe('a subscriber that does not read', () => {
  test('is cut off when more than a mebibyte waits for it; the others go on', async () => {
    const [reader, sleeper] = [await subscribe(server, resourceServer), await subscribe(server, resourceServer)]
    await Promise.all([reader.next(), sleeper.next()])
    sleeper.response.pause()
    const connections = () =>
      new Promise<number>((resolve) => server.internalServer.server.getConnections((_error, count) => resolve(count)))
    expect(await connections()).toBe(2)
    // In portions, for the reader shares this process. The kernel takes several megabytes before anything waits here.
    while ((await connections()) > 1) {
      await server.database.query({ name: 'test_flood', text: FLOOD, values: [] })
      for (let count = 1; count <= 50; count++) await reader.next()
    }
    expect(reader.response.destroyed).toBe(false)
    reader.request.destroy()
    await reader.ended
    sleeper.request.destroy()
  })

  test('does not hold up the end of its stream', async () => {
    const app = withFeed({})
    let isCut = false
    app.internalServer.get('/full', async (_request, reply) => {
      const stream = openEventStream(reply, { keepAliveMs: 60_000, onClose: () => (isCut = true) })
      const data = { text: 'x'.repeat(60_000) }
      while (reply.raw.writableLength === 0) {
        stream.send({ stream: 'all', event: 'revoked', id: 'any', data })
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

describe('a subscriber that is let in late', () => {
  test('gets no stream when it is gone by then', async () => {
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
    await sleep(20)
    expect(subscribed).toBe(0)
  })

  test('gets none when the server is closing by then, and does not hold it up', async () => {
    const { resourceServers, asked, letIn } = slowAuthentication()
    const app = withFeed({ resourceServers })
    const pending = subscribe(app, resourceServer)
    await asked
    const startedAt = performance.now()
    const closed = app.internalServer.close()
    await sleep(50)
    letIn()
    expect((await pending).status).toBe(503)
    await closed
    expect(performance.now() - startedAt).toBeLessThan(3_000)
  })
})

test('a server that closes ends its streams at once', async () => {
  const app = withFeed({})
  const stream = await subscribe(app, resourceServer)
  await stream.next()
  const startedAt = performance.now()
  await app.internalServer.close()
  expect(performance.now() - startedAt).toBeLessThan(3_000)
  await stream.ended
})
