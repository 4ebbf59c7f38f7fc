// Starts a process of a service.
import path from 'node:path'
import { programs } from '../checkout.mjs'
import { freePort } from '../processes/ports.mjs'
import { serviceProgram } from '../processes/programs.mjs'
import { waitUntilReady } from '../start/readiness.mjs'

/** @import { Processes } from '../processes/processes.mjs' */
/** @import { Program } from '../processes/programs.mjs' */
/** @typedef {'authorization-server' | 'resource-server'} Service */
/** @typedef {{ PUBLIC_LISTEN: number, INTERNAL_LISTEN: number, OPERATOR_LISTEN: number }} Ports a resource server does not
 *   use INTERNAL_LISTEN */

const MAIN = { 'authorization-server': programs.authorizationServer, 'resource-server': programs.resourceServer }

/** @returns {Promise<Ports>} */
export async function freePorts() {
  const [PUBLIC_LISTEN, INTERNAL_LISTEN, OPERATOR_LISTEN] = [await freePort(), await freePort(), await freePort()]
  return { PUBLIC_LISTEN, INTERNAL_LISTEN, OPERATOR_LISTEN }
}

/**
 * @typedef {object} ServiceOptions
 * @property {Processes} processes
 * @property {string} directory of the log
 * @property {Service} service
 * @property {string} [name]
 * @property {Ports} ports
 * @property {NodeJS.ProcessEnv} environment the settings except the addresses of the listeners
 * @property {string} [main] another program, such as that of another release
 * @property {readonly string[]} [nodeOptions]
 * @property {(program: Program) => Program} [adapt] changes the command
 */

/**
 * Starts a process without waiting until it is ready.
 * @param {ServiceOptions} options
 */
export function launchService({ processes, directory, service, ports, environment, ...options }) {
  const { name = service, main = MAIN[service], nodeOptions = [], adapt = (program) => program } = options
  const { INTERNAL_LISTEN, ...shared } = ports
  const listening = service === 'authorization-server' ? ports : shared
  const listeners = Object.entries(listening).map(([variable, port]) => [variable, `127.0.0.1:${port}`])
  return processes.start({
    name,
    program: adapt(serviceProgram(main, nodeOptions)),
    environment: { ...environment, ...Object.fromEntries(listeners) },
    logFile: path.join(directory, `${name.replaceAll(' ', '-')}.log`)
  })
}

/**
 * Starts a process.
 * @param {ServiceOptions & { waits?: boolean }} options `waits`: until it is ready; default: true
 */
export async function startService({ waits = true, ...options }) {
  const handle = launchService(options)
  if (waits) await waitUntilReady(handle, `http://127.0.0.1:${options.ports.OPERATOR_LISTEN}/readyz`)
  return handle
}
