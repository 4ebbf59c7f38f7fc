// Starts several processes of each service behind load balancers. Each can be restarted with other settings.
import { freePorts, startService } from '../../../packages/dev-stack/lib/services/start-service.mjs'
import { startBalancer } from './balancer.mjs'

/** @import { Handle, Processes } from '../../../packages/dev-stack/lib/processes/processes.mjs' */
/** @import { Ports, Service } from '../../../packages/dev-stack/lib/services/start-service.mjs' */
/** @typedef {NodeJS.ProcessEnv} Settings */
/** @typedef {{ service: Service, name: string, ports: Ports }} Planned */
/** @typedef {Planned & { environment: Settings, handle: Handle }} Instance */
/** @typedef {Awaited<ReturnType<typeof startFleet>>} Fleet */

/**
 * @param {object} options
 * @param {string} options.directory
 * @param {Processes} options.processes
 * @param {number} [options.size] the number of processes of each service
 * @param {Partial<Record<Service, string>>} [options.mains] the programs of another release
 * @param {string} options.resource
 * @param {Partial<Record<Service, Settings>>} options.settings
 * @param {(addresses: Settings) => Promise<Settings>} [options.registerResourceServer] returns the credential for
 *   introspection; without it no resource servers are started
 */
export async function startFleet(options) {
  const { directory, processes, size = 2, mains = {}, resource, settings, registerResourceServer } = options
  /** @type {Record<Service, Instance[]>} */
  const instances = { 'authorization-server': [], 'resource-server': [] }
  /** @type {Awaited<ReturnType<typeof startBalancer>>[]} */
  const balancers = []
  const common = { PATH: process.env.PATH, LOG_LEVEL: 'warn', RESOURCE_URL: resource, TRUSTED_PROXIES: '127.0.0.1' }

  const auth = await plan('authorization-server')
  const [front, internal] = [await balance(auth, 'PUBLIC_LISTEN'), await balance(auth, 'INTERNAL_LISTEN')]
  Object.assign(common, { ISSUER: front.url })
  await startAll(auth, { ...common, ...settings['authorization-server'] })

  let files
  if (registerResourceServer) {
    const api = await plan('resource-server')
    files = await balance(api, 'PUBLIC_LISTEN')
    const inner = {
      INTROSPECTION_URL: `${internal.url}/introspect`,
      REVOCATIONS_URL: `${internal.url}/revocations`,
      ...(await registerResourceServer({ ISSUER: front.url, RESOURCE_URL: resource }))
    }
    await startAll(api, { ...common, ...inner, ...settings['resource-server'] })
  }

  /** @param {Service} service */
  async function plan(service) {
    /** @type {Planned[]} */
    const planned = []
    for (let number = 1; number <= size; number++)
      planned.push({ service, name: `${service} ${number}`, ports: await freePorts() })
    return planned
  }

  /**
   * @param {readonly Planned[]} targets
   * @param {keyof Ports} listener
   */
  async function balance(targets, listener) {
    const balancer = await startBalancer(targets.map((one) => ({ port: one.ports[listener], readyUrl: readyUrl(one) })))
    balancers.push(balancer)
    return balancer
  }

  /**
   * @param {readonly Planned[]} planned
   * @param {Settings} environment
   */
  async function startAll(planned, environment) {
    for (const one of planned) instances[one.service].push(await start(one, environment))
  }

  /**
   * @param {Planned} planned
   * @param {Settings} environment
   */
  async function start({ service, name, ports }, environment) {
    const { [service]: main } = mains
    const own = { service, name, ports, environment, ...(main !== undefined && { main }) }
    return { service, name, ports, environment, handle: await startService({ processes, directory, ...own }) }
  }

  /**
   * Stops with SIGTERM and starts again with these settings changed. @returns the duration in milliseconds
   * @param {Instance} instance
   * @param {Settings} [change]
   */
  async function restart(instance, change = {}) {
    const startedAt = Date.now()
    await instance.handle.stop()
    const { code } = await instance.handle.exited
    if (code !== 0) throw new Error(`${instance.name} ended with ${code}`)
    Object.assign(instance, await start(instance, { ...instance.environment, ...change }))
    await untilBalanced()
    return Date.now() - startedAt
  }

  /** Waits until every balancer uses every server again. */
  async function untilBalanced() {
    const limit = Date.now() + 120_000
    while (balancers.some((balancer) => balancer.readyCount() < size)) {
      if (Date.now() > limit) throw new Error('a server is not ready after two minutes')
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  await untilBalanced()
  return {
    /** URL of the load balancer before the authorization servers. */
    issuer: front.url,
    internalUrl: internal.url,
    /** URL of the load balancer before the resource servers, if there are any. */
    filesUrl: files?.url,
    instances,
    restart,
    untilBalanced,
    /**
     * Restarts one process after the other.
     * @param {Service} service
     * @param {Settings} [change]
     */
    async restartAll(service, change) {
      for (const instance of instances[service]) await restart(instance, change)
    },
    async close() {
      for (const balancer of balancers) await balancer.close()
    }
  }
}

/** @param {Planned} instance */
const readyUrl = ({ ports }) => `http://127.0.0.1:${ports.OPERATOR_LISTEN}/readyz`
