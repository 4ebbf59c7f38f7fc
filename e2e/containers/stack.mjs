// The compose stack under test: its own project on free ports, separate from other stacks of this engine.
import { createServer } from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../packages/dev-stack/lib/processes/ports.mjs'
import { run } from './programs.mjs'

const checkout = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
const composeCommand = (process.env.COMPOSE ?? 'docker compose').split(' ')
const LASTING = ['authorization-server', 'resource-server', 'proxy', 'postgres', 'redis']
/** The value is not the default. */
export const ACCESS_TOKEN_TTL = 1_800
/** The default address ranges of an engine's networks. */
const PRIVATE_NETWORKS = '10.0.0.0/8,172.16.0.0/12,192.168.0.0/16'
/** Without a terminal, some releases of compose need `-T`. */
const DOCKER_FOR_PAGES = `
docker() {
  if [ "$1" != compose ]; then command docker "$@"; return; fi
  local word=$2
  shift 2
  case "$word $*" in exec*' -T '* | run*' -T '*) ;; exec* | run*) set -- -T "$@" ;; esac
  $COMPOSE "$word" "$@"
}`

export async function prepareStack() {
  const [authorizationPort, filesPort, httpPort, httpsPort] = await freePorts(4)
  const issuer = `http://localhost:${authorizationPort}`
  const resourceUrl = `http://localhost:${filesPort}`
  const environment = {
    COMPOSE_PROJECT_NAME: `valetkey-e2e-${process.pid}`,
    AUTHORIZATION_PORT: String(authorizationPort),
    FILES_PORT: String(filesPort),
    ISSUER: issuer,
    RESOURCE_URL: resourceUrl,
    PUBLISH_ADDRESS: '127.0.0.1',
    ACCESS_TOKEN_TTL: String(ACCESS_TOKEN_TTL)
  }
  let balanced
  process.chdir(checkout)

  const compose = (args, options = {}) => run([...composeCommand, ...args], { ...options, environment })
  const containersOf = async (service) => (await compose(['ps', '-q', service])).stdout.split('\n').filter(Boolean)
  /** `inspect` of every long-running container. */
  const inspectAll = async () => inspect((await Promise.all(lasting().map(containersOf))).flat())
  const lasting = () => (environment.COMPOSE_PROFILES === 'tls' ? [...LASTING, 'tls'] : LASTING)

  return {
    issuer,
    resourceUrl,
    publishedPorts: [authorizationPort, filesPort],
    compose,
    containersOf,
    /** Runs a script of this checkout on this project. */
    script: (name, args, options) =>
      run([`infra/docker/${name}`, ...args], {
        seconds: 240,
        ...options,
        environment: { ...environment, COMPOSE: composeCommand.join(' ') }
      }),
    /** Runs commands of a documentation page without a terminal, with the configured compose command. */
    shell: (commands, options) =>
      run(['bash', '-euo', 'pipefail', '-c', `${DOCKER_FOR_PAGES}\n${commands}`], {
        ...options,
        environment: { ...environment, COMPOSE: composeCommand.join(' ') }
      }),
    valetkey: (words, options) => compose(['exec', '-T', 'authorization-server', 'valetkey', ...words], options),
    inspectAll,

    /** Builds changed images, starts everything and waits until it is healthy. */
    async up() {
      await compose(['build'], { seconds: 480 })
      await this.start()
    },

    async start(authorizationServers = 1) {
      const scale = ['--scale', 'resource-server=3', '--scale', `authorization-server=${authorizationServers}`]
      await compose(['up', '--detach', ...scale], { seconds: 240 })
      await waitUntilHealthy(await inspectAll())
    },

    /**
     * Restarts the installation with this number of authorization servers, for a proxy at the issuer's port. A second call
     * keeps the ports.
     * @returns the ports of the authorization servers, in no order, and the port of the proxy
     */
    async startServers(count) {
      balanced ??= await portsForServers(count)
      Object.assign(environment, {
        AUTHORIZATION_PORT: `${balanced.ports[0]}-${balanced.ports.at(-1)}`,
        ISSUER: balanced.issuer,
        TRUSTED_PROXIES: PRIVATE_NETWORKS
      })
      await this.start(count)
      return balanced
    },

    /** Restarts the installation with https addresses, behind the proxy of the profile `tls`. */
    async startTls() {
      const addresses = {
        issuer: `https://auth.localhost:${httpsPort}`,
        resourceUrl: `https://files.localhost:${httpsPort}`
      }
      Object.assign(environment, {
        COMPOSE_PROFILES: 'tls',
        ISSUER: addresses.issuer,
        RESOURCE_URL: addresses.resourceUrl,
        TRUSTED_PROXIES: PRIVATE_NETWORKS,
        TLS_CERTIFICATES: 'internal',
        HTTP_PORT: String(httpPort),
        HTTPS_PORT: String(httpsPort)
      })
      await this.start()
      return { ...addresses, httpPort }
    },

    /** Removes everything except the images. */
    empty: () => compose(['down', '--volumes', '--remove-orphans'], { seconds: 120 }),

    down: () => compose(['down', '--volumes', '--rmi', 'local', '--remove-orphans'], { seconds: 120 }),

    /** The logs without successful requests. */
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

/** Ports of servers, one after the other, and of a proxy. */
async function portsForServers(count) {
  const proxyPort = await freePort()
  for (;;) {
    const first = await freePort()
    const ports = Array.from({ length: count }, (_, index) => first + index)
    const are = await Promise.all(ports.map(isFree))
    if (are.every(Boolean)) return { ports, proxyPort, issuer: `http://localhost:${proxyPort}` }
  }
}

async function isFree(port) {
  const server = createServer()
  return listenAt(server, port).then(
    () => new Promise((resolve) => server.close(() => resolve(true))),
    () => false
  )
}

const freePorts = (count) => Promise.all(Array.from({ length: count }, freePort))

function listenAt(server, port) {
  return new Promise((resolve, reject) => {
    server.on('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server.address().port))
  })
}
