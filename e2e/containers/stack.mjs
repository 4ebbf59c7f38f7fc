// The compose stack under test: a project of its own, on free ports, that touches no other stack on this engine.
import { createServer } from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './programs.mjs'

const checkout = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
const composeCommand = (process.env.COMPOSE ?? 'docker compose').split(' ')
const LASTING = ['authorization-server', 'resource-server', 'proxy', 'postgres', 'redis']

export async function prepareStack() {
  const [authorizationPort, filesPort] = await freePorts(2)
  const issuer = `http://localhost:${authorizationPort}`
  const resourceUrl = `http://localhost:${filesPort}`
  const environment = {
    COMPOSE_PROJECT_NAME: `valetkey-e2e-${process.pid}`,
    AUTHORIZATION_PORT: String(authorizationPort),
    FILES_PORT: String(filesPort),
    ISSUER: issuer,
    RESOURCE_URL: resourceUrl,
    PUBLISH_ADDRESS: '127.0.0.1'
  }
  process.chdir(checkout)

  const compose = (args, options = {}) => run([...composeCommand, ...args], { ...options, environment })
  const containersOf = async (service) => (await compose(['ps', '-q', service])).stdout.split('\n').filter(Boolean)
  /** What the engine knows of every container that stays. */
  const inspectAll = async () => inspect((await Promise.all(LASTING.map(containersOf))).flat())

  return {
    issuer,
    resourceUrl,
    publishedPorts: [authorizationPort, filesPort],
    compose,
    containersOf,
    inspectAll,

    /** Builds what has changed, starts everything and waits until it is healthy. */
    async up() {
      await compose(['build'], { seconds: 480 })
      await this.start()
    },

    async start() {
      await compose(['up', '--detach', '--scale', 'resource-server=3'], { seconds: 240 })
      await waitUntilHealthy(await inspectAll())
    },

    down: () => compose(['down', '--volumes', '--rmi', 'local', '--remove-orphans'], { seconds: 120 }),

    /** What went wrong, without the requests that went well. */
    async logs() {
      const { stdout } = await compose(['logs', '--no-color', '--tail', '100'], { mayFail: true })
      return stdout
        .split('\n')
        .filter((line) => !line.includes('"level":"info"'))
        .join('\n')
    }
  }
}

export async function inspect(ids) {
  return JSON.parse((await run(['docker', 'inspect', ...ids])).stdout)
}

async function waitUntilHealthy(containers) {
  const ids = containers.map((container) => container.Id)
  const deadline = Date.now() + 120_000
  for (;;) {
    const waiting = (await inspect(ids)).filter((container) => container.State.Health?.Status !== 'healthy')
    if (waiting.length === 0) return
    if (Date.now() > deadline) throw new Error(`not healthy: ${waiting.map((container) => container.Name).join(', ')}`)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  }
}

async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer())
  const ports = await Promise.all(servers.map(listenAnywhere))
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

function listenAnywhere(server) {
  return new Promise((resolve, reject) => {
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => resolve(server.address().port))
  })
}
