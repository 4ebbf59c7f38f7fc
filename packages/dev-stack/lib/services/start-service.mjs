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
 * @param {object} options
 * @param {Processes} options.processes
 * @param {string} options.directory of the log
 * @param {Service} options.service
 * @param {string} [options.name]
 * @param {Ports} options.ports
 * @param {NodeJS.ProcessEnv} options.environment the settings except the addresses of the listeners
 * @param {string} [options.main] another program, such as that of another release
 * @param {(program: Program) => Program} [options.adapt] changes the command
 * @param {boolean} [options.waits] whether to wait until it is ready; default: true
 */
export async function startService({ processes, directory, service, ports, environment, ...options }) {
  const { name = service, main = MAIN[service], adapt = (program) => program, waits = true } = options
  const { INTERNAL_LISTEN, ...shared } = ports
  const listening = service === 'authorization-server' ? ports : shared
  const listeners = Object.entries(listening).map(([variable, port]) => [variable, `127.0.0.1:${port}`])
  const handle = processes.start({
    name,
    program: adapt(serviceProgram(main)),
    environment: { ...environment, ...Object.fromEntries(listeners) },
    logFile: path.join(directory, `${name.replaceAll(' ', '-')}.log`)
  })
  if (waits) await waitUntilReady(handle, `http://127.0.0.1:${ports.OPERATOR_LISTEN}/readyz`)
  return handle
}
