// The servers that Valetkey is compared with: the floor and the peers, each with its own tables and the floor's resource
// server. startRival returns the same as startValetkey, so that all are measured in the same way.
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import pg from 'pg'
import { createHttpBrowser } from '../../packages/dev-stack/lib/client/http-browser.mjs'
import { freePort } from '../../packages/dev-stack/lib/processes/ports.mjs'
import { nodeProgram } from '../../packages/dev-stack/lib/processes/programs.mjs'
import { onServerCore } from './cores.mjs'
import { FILES, REDIRECT_URI, SCOPE } from './test-data.mjs'
import { tryStart, untilReady } from './until-ready.mjs'

const folder = fileURLToPath(new URL('..', import.meta.url))
const PATHS = { authorize: '/authorize', token: '/token', introspect: '/introspect' }

/** `signsIn`: the server has its own sessions, which start when redirects are followed. */
export const rivals = {
  floor: { file: 'floor/authorization-server.mjs' },
  'floor, coalesced': { file: 'floor/authorization-server.mjs', variables: { COALESCE: '1' } },
  'floor with features': { file: 'floor/with-features.mjs' },
  'oidc-provider': {
    file: 'peers/oidc-provider.mjs',
    paths: { authorize: '/auth', token: '/token', introspect: '/token/introspection' },
    signsIn: true
  },
  '@node-oauth/oauth2-server': { file: 'peers/node-oauth2-server.mjs' }
}

/** @param databaseUrl an empty database; `node`: the Node that runs the servers */
export async function startRival(name, { databaseUrl, redisUrl, directory, processes, node = process.execPath }) {
  const { file, paths = PATHS, variables = {}, signsIn = false } = rivals[name]
  mkdirSync(directory, { recursive: true })
  const secret = () => randomBytes(32).toString('hex')
  const [client, resourceServer] = ['bench-client', 'bench-files'].map((id) => ({ id, secret: secret() }))
  const user = { id: randomUUID() }
  const session = randomBytes(32).toString('hex')
  await fillTables(databaseUrl, user.id)
  const [issuerPort, filesPort] = [await freePort(), await freePort()]
  const issuer = `http://127.0.0.1:${issuerPort}`
  const introspectUrl = issuer + paths.introspect
  const shared = {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    DATABASE_URL: databaseUrl,
    SCOPE,
    CALLER_ID: resourceServer.id,
    CALLER_SECRET: resourceServer.secret
  }
  const servers = [await ready('authorization-server', issuerPort), await ready('resource-server', filesPort)]
  const request = { response_type: 'code', client_id: client.id, redirect_uri: REDIRECT_URI, scope: SCOPE }
  const codeUrl = `${issuer}${paths.authorize}?${new URLSearchParams({ ...request, state: 'st4te' })}`
  return {
    user,
    client,
    resourceServer,
    codeUrl,
    introspectUrl,
    cookie: signsIn ? await followToCode(codeUrl) : await storeSession(redisUrl, session, user.id),
    tokenUrl: issuer + paths.token,
    filesUrl: `http://127.0.0.1:${filesPort}/v1/files`,
    pids: servers.map(({ child }) => child.pid),
    tryStarts
  }

  async function ready(part, port) {
    const server = start(part, port)
    await untilReady(`http://127.0.0.1:${port}/readyz`, server)
    return server
  }

  /** See startValetkey. */
  async function tryStarts() {
    const started = []
    for (const part of ['authorization-server', 'resource-server']) {
      const port = await freePort()
      started.push(await tryStart({ launch: () => start(part, port), url: `http://127.0.0.1:${port}/readyz` }))
    }
    return started
  }

  function start(part, port) {
    const asked = {
      REDIS_URL: redisUrl,
      CLIENT_ID: client.id,
      CLIENT_SECRET: client.secret,
      REDIRECT_URI,
      USER_ID: user.id,
      SESSION: session
    }
    const [program, own] =
      part === 'authorization-server'
        ? [file, { ...asked, ...variables }]
        : ['floor/resource-server.mjs', { INTROSPECTION_URL: introspectUrl }]
    return processes.start({
      name: `${name}, ${part}`,
      program: onServerCore({ ...nodeProgram(path.join(folder, program)), command: node }),
      environment: { ...shared, ...own, PORT: String(port) },
      logFile: path.join(directory, `${part}.log`)
    })
  }
}

async function followToCode(codeUrl) {
  const browser = createHttpBrowser(codeUrl)
  const { url, html } = await browser.open(codeUrl)
  if (!url.searchParams.has('code')) throw new Error(`no code at ${url}: ${html.slice(0, 500)}`)
  return browser.cookie()
}

async function storeSession(redisUrl, session, userId) {
  const redis = new Redis(redisUrl)
  await redis.set(`bench:session:${session}`, userId, 'EX', 86_400)
  redis.disconnect()
  return `session=${session}`
}

/** The table has the files of a thousand users; the user's own files fill one page. */
async function fillTables(databaseUrl, owner) {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query(readFileSync(path.join(folder, 'floor/tables.sql'), 'utf8'))
    await client.query(
      `insert into floor_files (owner_id, created_at, name, size, content_type)
        select owner, timestamptz '2026-01-01' + number * interval '1 minute', 'report-' || number || '.pdf',
          1000 + number * 37, 'application/pdf'
        from (select $1::uuid union all select gen_random_uuid() from generate_series(1, 999)) as owners (owner),
          generate_series(1, $2::int) as number`,
      [owner, FILES]
    )
    await client.query('analyze')
  } finally {
    await client.end()
  }
}
