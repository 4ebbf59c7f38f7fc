// Starts several processes of each service behind load balancers. Each can be restarted with other settings.
import { freePorts, startService } from '../../../packages/dev-stack/lib/services/start-service.mjs'
import { startBalancer } from './balancer.mjs'

/** See start-fleet.d.mts for parameters and result. */
export async function startFleet({
  directory,
  processes,
  size = 2,
  mains = {},
  resource,
  settings,
  registerResourceServer
}) {
  const instances = { 'authorization-server': [], 'resource-server': [] }
  const balancers = []
  const common = { PATH: process.env.PATH, LOG_LEVEL: 'warn', RESOURCE_URL: resource, TRUSTED_PROXIES: '127.0.0.1' }

  const auth = await prepare('authorization-server')
  const [front, internal] = [await balance(auth, 'PUBLIC_LISTEN'), await balance(auth, 'INTERNAL_LISTEN')]
  Object.assign(common, { ISSUER: front.url })
  for (const instance of auth) await start(instance, { ...common, ...settings['authorization-server'] })

  let files
  if (registerResourceServer) {
    const api = await prepare('resource-server')
    files = await balance(api, 'PUBLIC_LISTEN')
    const inner = {
      INTROSPECTION_URL: `${internal.url}/introspect`,
      REVOCATIONS_URL: `${internal.url}/revocations`,
      ...(await registerResourceServer({ ISSUER: front.url, RESOURCE_URL: resource }))
    }
    for (const instance of api) await start(instance, { ...common, ...inner, ...settings['resource-server'] })
  }

  async function prepare(service) {
    for (let number = 1; number <= size; number++) {
      instances[service].push({ service, name: `${service} ${number}`, ports: await freePorts() })
    }
    return instances[service]
  }

  async function balance(targets, listener) {
    const readyUrl = ({ ports }) => `http://127.0.0.1:${ports.OPERATOR_LISTEN}/readyz`
    const balancer = await startBalancer(targets.map((one) => ({ port: one.ports[listener], readyUrl: readyUrl(one) })))
    balancers.push(balancer)
    return balancer
  }

  async function start(instance, environment) {
    const { service, name, ports } = instance
    instance.environment = environment
    const own = { service, name, ports, environment, main: mains[service] }
    instance.handle = await startService({ processes, directory, ...own })
  }

  async function restart(instance, change = {}) {
    const startedAt = Date.now()
    await instance.handle.stop()
    const { code } = await instance.handle.exited
    if (code !== 0) throw new Error(`${instance.name} ended with ${code}`)
    await start(instance, { ...instance.environment, ...change })
    await untilBalanced()
    return Date.now() - startedAt
  }

  /** Waits until every balancer uses every server again. */
  async function untilBalanced() {
    const limit = Date.now() + 30_000
    while (balancers.some((balancer) => balancer.readyCount() < size)) {
      if (Date.now() > limit) throw new Error('a server is not ready after 30 seconds')
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  await untilBalanced()
  return {
    issuer: front.url,
    internalUrl: internal.url,
    filesUrl: files?.url,
    instances,
    restart,
    untilBalanced,
    /** Restarts one process after the other. */
    async restartAll(service, change) {
      for (const instance of instances[service]) await restart(instance, change)
    },
    async close() {
      for (const balancer of balancers) await balancer.close()
    }
  }
}
