// Two authorization servers behind a proxy on the host, which is configured as in docs/containers.md.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createApp } from './app.mjs'
import { USER } from './main-job.mjs'
import { run } from './programs.mjs'
import { inspect } from './stack.mjs'

const SERVERS = 2
const FLOWS_AFTER_KILL = 4
const LIMIT_MS = 2_000
const page = new URL('../../docs/containers.md', import.meta.url)

export async function twoServerChecks(report, stack, client) {
  let proxy
  try {
    const ports = await report.check('docker compose up, two authorization servers: everything is healthy', () =>
      stack.startServers(SERVERS)
    )
    if (ports === undefined) return
    proxy = await report.check('nginx runs with the configuration of docs/containers.md', () => startProxy(ports))
    if (proxy === undefined) return
    await flowChecks(report, stack, { issuer: ports.issuer, client })
  } finally {
    await proxy?.stop()
  }
}

async function flowChecks(report, stack, { issuer, client }) {
  const at = (address) =>
    createApp({ ...stack, issuer: address, clientId: client.client_id, clientSecret: client.client_secret })
  const app = at(issuer)
  await report.check('a code that one authorization server issued is exchanged at the other, in both directions', () =>
    exchangeAtTheOther({ stack, app, at, issuer })
  )
  await report.check('after one authorization server was killed, each flow passes without a long wait', async () => {
    const [victim] = await stack.containersOf('authorization-server')
    await run(['docker', 'kill', victim])
    for (let flow = 0; flow < FLOWS_AFTER_KILL; flow += 1) await wholeFlow(app)
  })
  await report.check('the killed one starts again beside the other', () => stack.startServers(SERVERS))
}

async function exchangeAtTheOther({ stack, app, at, issuer }) {
  const servers = await serversOf(stack)
  assert.equal(servers.length, SERVERS)
  const issuing = new Set()
  let last
  for (let flow = 0; flow < 2 * SERVERS && issuing.size < SERVERS; flow += 1) {
    const before = await Promise.all(servers.map(codesIssuedBy))
    const { answer, codeVerifier } = await app.authorize(USER, 'allow')
    const own = await serverWithMore(servers, before)
    const other = servers.find((server) => server !== own)
    const { status, body } = await at(`http://127.0.0.1:${other.port}`).exchange(answer.code, codeVerifier)
    assert.equal(status, 200, JSON.stringify(body))
    assert.equal((await app.listFiles(body.access_token)).status, 200)
    issuing.add(own.id)
    // The proxy takes the servers in turn, so that an even number of requests for each flow would always end at the same one.
    if (last === own) await fetch(`${issuer}/.well-known/oauth-authorization-server`)
    last = own
  }
  assert.equal(issuing.size, SERVERS, 'one server issued all codes')
}

async function wholeFlow(app) {
  const { answer, codeVerifier } = await app.authorize(USER, 'allow')
  const { body: tokens } = await timed('exchange', () => app.exchange(answer.code, codeVerifier))
  await timed('list of files', () => app.listFiles(tokens.access_token))
  await timed('revocation', () => app.revoke(tokens.access_token))
  assert.equal((await app.listFiles(tokens.access_token)).status, 401)
}

async function timed(what, send) {
  const start = performance.now()
  const answer = await send()
  const milliseconds = performance.now() - start
  assert.equal(answer.status, 200, `${what}: ${JSON.stringify(answer.body)}`)
  assert.ok(milliseconds < LIMIT_MS, `${what} took ${milliseconds} ms`)
  return answer
}

/** Each authorization server's container, and its port on this machine. */
async function serversOf(stack) {
  const containers = await inspect(await stack.containersOf('authorization-server'))
  return containers.map(({ Id, NetworkSettings }) => ({ id: Id, port: NetworkSettings.Ports['4000/tcp'][0].HostPort }))
}

async function codesIssuedBy({ id }) {
  const { stdout } = await run(['docker', 'logs', id])
  return stdout.split('"event":"code_issued"').length - 1
}

/** Waits until the log has the event of a server. */
async function serverWithMore(servers, before) {
  const deadline = Date.now() + 10_000
  while (Date.now() < deadline) {
    const now = await Promise.all(servers.map(codesIssuedBy))
    const more = servers.find((_server, index) => now[index] > before[index])
    if (more !== undefined) return more
    await wait(50)
  }
  throw new Error('no log has the event code_issued')
}

/** Runs nginx on the host's network, with the documented configuration and the ports of this stack. */
async function startProxy({ ports, proxyPort, issuer }) {
  const [, documented = ''] = /```nginx\n([\s\S]*?)```/.exec(readFileSync(page, 'utf8')) ?? []
  const ours = { 4000: ports[0], 4001: ports[1], 8080: `127.0.0.1:${proxyPort}` }
  const servers = documented.replace(/\b(4000|4001|8080)\b/g, (port) => ours[port])
  const folder = await mkdtemp(path.join(tmpdir(), 'valetkey-proxy-'))
  const name = `valetkey-e2e-proxy-${process.pid}`
  const stop = async () => {
    await run(['docker', 'rm', '--force', name], { mayFail: true })
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const file = path.join(folder, 'nginx.conf')
    await writeFile(file, `error_log stderr warn;\nevents {}\nhttp {\naccess_log off;\n${servers}}\n`)
    const mounted = ['--volume', `${file}:/etc/nginx/nginx.conf:ro`]
    await run(['docker', 'run', '--detach', '--name', name, '--network', 'host', ...mounted, 'nginx:1.29-alpine'])
    const deadline = Date.now() + 10_000
    while (!(await responds(`${issuer}/.well-known/oauth-authorization-server`))) {
      if (Date.now() > deadline) throw new Error((await run(['docker', 'logs', name])).stderr)
      await wait(100)
    }
    return { stop }
  } catch (error) {
    await stop()
    throw error
  }
}

const responds = (url) =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false
  )
