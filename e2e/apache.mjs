// Apache with mod_oauth2 as a resource server in front of an API, introspecting at a real authorization server.
// Needs the Debian packages apache2-bin and libapache2-mod-oauth2. Starts everything on free ports and removes it at the
// end. node e2e/apache.mjs
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startApache } from './apache/server.mjs'
import { requireScope, verifyAt } from './apache/settings.mjs'
import { createApp, REDIRECT_URI } from './containers/app.mjs'
import { createReport } from './containers/report.mjs'
import { createStack } from './system/stack.mjs'

const RESOURCE = 'https://reports.example'
const CACHE_SECONDS = 2
const TOKEN_SECONDS = 12

const report = createReport()
const files = mkdtempSync(path.join(tmpdir(), 'valetkey-files-'))
const stack = await createStack({ files, environment: { ACCESS_TOKEN_TTL: String(TOKEN_SECONDS) } })
const started = []
try {
  const at = await stack.start()
  const { app, credential } = await register(at)
  const verify = (options) => verifyAt(`${at.internalUrl}/introspect`, credential, options)
  const scope = requireScope(RESOURCE, 'reports.read')
  // All paths of an Apache share the cache of mod_oauth2, so each set of settings needs its own Apache.
  const uncached = await start({ reports: `${verify('&expiry=0')}\n${scope}` })
  const cached = await start({ reports: `${verify(`&expiry=${CACHE_SECONDS}`)}\n${scope}` })
  const asShipped = await start({ reports: `${verify()}\n${scope}` })
  const unreachable = await start({ reports: `${verifyAt('http://127.0.0.1:9/introspect', credential)}\n${scope}` })
  const newToken = async (asked) => {
    const { answer, codeVerifier } = await app.authorize(at, 'allow', { resource: RESOURCE, ...asked })
    return (await app.exchange(answer.code, codeVerifier)).body.access_token
  }
  const statusAt = async (apache, token) => (await apache.get('reports', token)).status
  const reports = { scope: 'reports.read' }

  await report.check('a token of the scope is accepted, alone and among others', async () => {
    assert.equal(await statusAt(uncached, await newToken(reports)), 200)
    assert.equal(await statusAt(uncached, await newToken({ scope: 'reports.count reports.read' })), 200)
  })
  await report.check('a token of another scope: 403', async () => {
    assert.equal(await statusAt(uncached, await newToken({ scope: 'reports.count' })), 403)
  })
  await report.check('a token for another audience: 401', async () => {
    assert.equal(await statusAt(uncached, await newToken({ scope: 'files.read', resource: at.resourceUrl })), 401)
  })
  await report.check('a token that was never issued, and none: 401 with a challenge', async () => {
    for (const token of ['vk_at_nonsense', undefined]) {
      const { status, challenge } = await uncached.get('reports', token)
      assert.equal(status, 401)
      assert.match(challenge, /^Bearer /)
    }
  })
  await report.check('a revoked token with expiry=0: 401 at the next request', async () => {
    const token = await newToken(reports)
    assert.equal(await statusAt(uncached, token), 200)
    await app.revoke(token)
    assert.equal(await statusAt(uncached, token), 401)
  })
  await report.check(`a revoked token with expiry=${CACHE_SECONDS}: 401 once that is over`, async () => {
    const token = await newToken(reports)
    assert.equal(await statusAt(cached, token), 200)
    await app.revoke(token)
    await sleep((CACHE_SECONDS + 1) * 1000)
    assert.equal(await statusAt(cached, token), 401)
  })
  await report.check('an expired token: 401 with expiry=0, and after the cache', async () => {
    const token = await newToken(reports)
    assert.equal(await statusAt(uncached, token), 200)
    await sleep((TOKEN_SECONDS + CACHE_SECONDS + 1) * 1000)
    assert.equal(await statusAt(uncached, token), 401)
    assert.equal(await statusAt(cached, token), 401)
  })
  await report.check('as it is shipped (300 s): accepted after revocation and after expiry, as docs warn', async () => {
    const token = await newToken(reports)
    assert.equal(await statusAt(asShipped, token), 200)
    await app.revoke(token)
    await sleep((TOKEN_SECONDS + 1) * 1000)
    assert.equal(await statusAt(asShipped, token), 200)
  })
  await report.check('authorization server unavailable: refused with 401, as docs warn', async () => {
    assert.equal(await statusAt(unreachable, await newToken(reports)), 401)
  })
} catch (error) {
  await report.check('the run completes', () => assert.fail(error.message))
} finally {
  for (const apache of started) await apache.stop()
  await stack.dispose()
  rmSync(files, { recursive: true, force: true })
}
console.log(report.summary())
process.exit(report.exitCode())

async function start(protect) {
  const apache = await startApache(protect)
  started.push(apache)
  return apache
}

async function register(at) {
  const created = (...args) => stack.valetkey(args)
  const api = await created('resource-servers', 'create', '--name', 'reports', '--audience', RESOURCE)
  for (const scope of ['reports.read', 'reports.count'])
    await created('scopes', 'create', scope, '--title', 'See your reports', '--resource', 'reports')
  const scopes = 'files.read reports.read reports.count'
  const client = await created('clients', 'create', '--name', 'R', '--redirect-uri', REDIRECT_URI, '--scope', scopes)
  const { issuer, resourceUrl } = at
  const app = createApp({ issuer, resourceUrl, clientId: client.client_id, clientSecret: client.client_secret })
  return { app, credential: { clientId: api.client_id, clientSecret: api.client_secret } }
}
