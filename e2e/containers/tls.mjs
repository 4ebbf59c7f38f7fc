// The main flow over https, through the proxy of the profile `tls`, with certificates of its own authority.
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { FILES, USER } from './main-job.mjs'
import { run } from './programs.mjs'
import { inspect } from './stack.mjs'

const visit = fileURLToPath(new URL('tls-visit.mjs', import.meta.url))
const AUTHORITY = '/data/caddy/pki/authorities/local/root.crt'
/** An address reserved for documentation, so no machine has it. */
const CLAIMED = '203.0.113.9'
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'

export async function tlsChecks(report, stack, client) {
  const addresses = await report.check('docker compose --profile tls up: everything is healthy', () => stack.startTls())
  if (addresses === undefined) return
  const seen = await report.check('the main job over https, each service at its own host', async () => {
    const result = await visitOverTls(stack, {
      ...addresses,
      client,
      user: USER,
      claimed: CLAIMED,
      traceId: TRACE_ID
    })
    assert.equal(result.metadata.issuer, addresses.issuer)
    assert.deepEqual(
      result.files.sort(),
      Object.keys(FILES)
        .map((name) => path.posix.basename(name))
        .sort()
    )
    return result
  })
  await report.check('over https every cookie is Secure and bound to its host', () => {
    assert.ok(seen.cookies.length > 0)
    for (const cookie of seen.cookies) assert.match(cookie, /^__Host-.*;\s*secure/i)
  })
  await report.check('http leads to https', () => {
    assert.ok([301, 308].includes(seen.redirect.status), String(seen.redirect.status))
    assert.match(seen.redirect.location, new RegExp(`^${addresses.issuer.replace(/:\d+$/, '')}`))
  })
  await report.check('the address of a caller is neither the proxy nor what the caller claims', async () => {
    const { stdout } = await stack.compose(['logs', '--no-color', 'authorization-server'])
    const line = stdout.split('\n').findLast((one) => one.includes('"event":"sign_in_failed"'))
    const [, address] = /"address":"([^"]+)"/.exec(line ?? '') ?? []
    const [{ NetworkSettings }] = await inspect(await stack.containersOf('tls'))
    const ofProxy = Object.values(NetworkSettings.Networks).map(({ IPAddress }) => IPAddress)
    assert.ok(address !== undefined && address !== CLAIMED && !ofProxy.includes(address), address)
  })
  await report.check('the proxy removes the trace context of a caller', async () => {
    const { stdout } = await stack.compose(['logs', '--no-color', 'authorization-server'])
    assert.match(stdout, /"event":"sign_in_failed"/)
    assert.ok(!stdout.includes(TRACE_ID))
  })
  await report.check('the proxy that ends TLS reaches no internal and no operator listener', () =>
    reachesNothingElse(stack)
  )
}

async function visitOverTls(stack, task) {
  const [container] = await stack.containersOf('tls')
  const { stdout: certificate } = await run(['docker', 'exec', container, 'cat', AUTHORITY])
  const folder = await mkdtemp(path.join(tmpdir(), 'valetkey-tls-'))
  try {
    const file = path.join(folder, 'root.crt')
    await writeFile(file, certificate)
    const environment = { NODE_EXTRA_CA_CERTS: file }
    return JSON.parse((await run([process.execPath, visit], { input: JSON.stringify(task), environment })).stdout)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function reachesNothingElse(stack) {
  const [tls] = await stack.containersOf('tls')
  // One address that must be reachable, so that the failures below are not failures of the request itself.
  const published = 'http://authorization-server:4000/.well-known/oauth-authorization-server'
  assert.equal(await fetches(tls, published), true)
  const services = ['authorization-server', 'resource-server']
  const ids = await Promise.all(services.map((service) => stack.containersOf(service)))
  for (const { Name, NetworkSettings } of await inspect(ids.flat())) {
    for (const { IPAddress } of Object.values(NetworkSettings.Networks)) {
      for (const port of [4001, 4002, 4101]) {
        const url = `http://${IPAddress}:${port}/livez`
        assert.equal(await fetches(tls, url), false, `${Name}: ${url}`)
      }
    }
  }
}

async function fetches(container, url) {
  const command = ['timeout', '2', 'wget', '-q', '-O', '/dev/null', url]
  return (await run(['docker', 'exec', container, ...command], { mayFail: true })).code === 0
}
