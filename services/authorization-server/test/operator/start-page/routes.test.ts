import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { buildLogger, connectPostgres } from '@valetkey/service-kit'
import { freePort } from '../../../../../packages/dev-stack/lib/processes/ports.mjs'
import { buildApp } from '../../../src/app.js'
import { FEATURES } from '../../../src/features.js'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { wire } from '../../../src/wire/wire.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { atPort } from '../../support/failing-network.js'
import { listenOnFreePort, rawRequest, sendRaw } from '../../support/raw-connection.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer({ PRODUCT_NAME: 'Harbour & Co', ACCENT_COLOR: '#a01060' })
})
afterAll(() => server.close())

const open = (path = '/', options = {}) => server.operatorServer.inject({ url: path, ...options })

test('GET / of the operator listener shows readiness, findings, versions and links', async () => {
  const answer = await open()
  expect(answer.statusCode).toBe(200)
  const { rows } = { rows: await server.database.query<{ v: string }>(VERSION) }
  for (const text of ['This process is', 'postgres', 'Checks without a problem', 'Migrations', 'href="readyz"']) {
    expect(answer.body).toContain(text)
  }
  expect(answer.body).toContain(`<dt>Postgres</dt><dd>${rows[0]?.v}</dd>`)
  expect(answer.body).toContain(`<dt>Node</dt><dd>${process.versions.node}</dd>`)
  expect(answer.body).toContain('Harbour &amp; Co')
  expect(answer.body).toMatch(/http:\/\/localhost:4000<\/bdi> · this process has run for \d+ (second|minute)s?</)
})

const VERSION = { name: 'v', text: "select current_setting('server_version') as v", values: [] }

test('the page has the headers of pages: CSP without scripts, no-store, no frames, no foreign embedding', async () => {
  expect((await open()).headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': expect.stringMatching(/^default-src 'none'; style-src 'self';.*frame-ancestors 'none'/),
    'cache-control': 'no-store',
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin'
  })
  expect((await open()).body).not.toMatch(/<script|style=|<form/)
})

test('the page shows no credential of the settings, and no client or user', async () => {
  const { clientId } = await server.createClient({ name: 'Secretive Printer' })
  const userId = await server.createUser('ulrike', 'correct horse battery')
  const { body } = await open()
  const { databaseUrl, cookieKeys } = server.config
  const { password, username } = new URL(databaseUrl)
  const secrets = [databaseUrl, ...cookieKeys, clientId, 'Secretive Printer', userId, 'ulrike', password]
  for (const secret of secrets.filter((text) => text !== '' && text !== username)) expect(body).not.toContain(secret)
})

test('the stylesheet of the page has the accent colour, and the icon exists', async () => {
  expect((await open('/assets/style.css')).body).toMatch(/\.overview[\s\S]*--accent: #a01060/)
  expect((await open('/assets/icon.svg')).headers['content-type']).toBe('image/svg+xml')
})

test('a browser whose cookies or address cannot be read gets a page that names cookies; a program gets problem details', async () => {
  const port = await listenOnFreePort(server.operatorServer)
  const cookies = `Cookie: a=${'b'.repeat(17_000)}`
  const answerTo = async (line: string, ...headers: string[]) => {
    const { answers } = await sendRaw(port, rawRequest(line, [...headers, 'Connection: close']))
    const { status, headers: got, body = '' } = answers[0] ?? {}
    return { status, type: got?.['content-type'], policy: got?.['content-security-policy'], body }
  }
  for (const { line, headers, status } of [
    { line: 'GET /', headers: [cookies], status: 431 },
    { line: 'GET /%zz', headers: [], status: 400 }
  ]) {
    const page = await answerTo(line, 'Accept: text/html,*/*', ...headers)
    expect([page.status, page.type]).toEqual([status, 'text/html; charset=utf-8'])
    expect([page.body, page.policy]).toEqual([expect.stringContaining('cookies'), expect.stringContaining("'none'")])
    const json = await answerTo(line, ...headers)
    expect([json.status, json.type]).toEqual([status, 'application/problem+json; charset=utf-8'])
  }
})

test('other methods, other paths and the public listener have no such page', async () => {
  expect((await open('/', { method: 'POST' })).statusCode).toBe(404)
  expect((await open('/overview')).statusCode).toBe(404)
  expect((await server.publicServer.inject('/')).body).not.toContain('Operator overview')
  expect((await server.internalServer.inject('/')).statusCode).toBe(404)
})

test('the page shows that Postgres and Redis are unavailable', async () => {
  const port = await freePort()
  const config = {
    ...server.config,
    databaseUrl: atPort(server.config.databaseUrl, port),
    redisUrl: `redis://127.0.0.1:${port}`
  }
  const database = connectPostgres(config.databaseUrl, { connections: 1 })
  const redis = connectRedis(config.redisUrl)
  const app = buildApp(
    { ...config, logger: buildLogger('test', 'silent') },
    wire(config, database, redis, { features: FEATURES })
  )
  const answer = await app.operatorServer.inject('/')
  expect(answer.statusCode).toBe(200)
  expect(answer.body).toContain('This process is not ready')
  expect(answer.body).toMatch(/fatal<\/span> postgres<\/h4>\s*<p>cannot be reached/)
  expect(answer.body).toMatch(/fatal<\/span> redis<\/h4>\s*<p>cannot be reached/)
  expect(answer.body).toContain('<dt>Postgres</dt><dd>unknown</dd>')
  redis.disconnect()
  await Promise.all([...Object.values(app).map((each) => each.close()), database.close()])
})
