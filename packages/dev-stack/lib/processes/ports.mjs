// Finds free TCP addresses.
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { codeOf, messageOf } from '../error-code.mjs'
import { BLOCKED_PORTS } from './blocked-ports.mjs'

/** @typedef {{ variable: string, what: string, host: string, port: number }} Listener */

// These are below the ports that Linux, macOS and Windows give to outgoing connections: one of those could take the port
// meanwhile.
const [FIRST, LAST] = [12_000, 32_000]

/** A port that is free now, and different each time. The caller handles the rare case that another program takes it first. */
export async function freePort() {
  for (;;) {
    const port = randomInt(FIRST, LAST)
    if (given.has(port)) continue
    given.add(port)
    const isFree = await probe('127.0.0.1', port).then(
      () => true,
      () => false
    )
    if (isFree) return port
  }
}

/**
 * The results of `freePort` in this process.
 * @type {Set<number>}
 */
const given = new Set()

/**
 * @param {readonly Listener[]} listeners
 * @returns {Promise<string[]>} one line for each address that is in use, or that no browser opens
 */
export async function findPortProblems(listeners) {
  const problems = []
  for (const listener of listeners) {
    const problem = await findProblem(listener)
    if (problem !== undefined) problems.push(problem)
  }
  return problems
}

/** @param {Listener} listener */
async function findProblem({ variable, what, host, port }) {
  const where = `Port ${port} for the ${what}`
  const advice = `choose another port: ${variable}=${bracketed(host)}:${port + 1000 > 65535 ? port - 1000 : port + 1000}`
  if (BLOCKED_PORTS.has(port)) return `${where} is blocked by browsers; ${advice}`
  try {
    for (const address of addressesOf(host)) await probe(address, port, host)
    return undefined
  } catch (error) {
    const code = codeOf(error)
    if (code === 'EADDRINUSE') return `${where} is used by another program. Stop that program, or ${advice}`
    if (code === 'EACCES') return `${where} needs more privileges; ${advice}`
    return `${variable}: this machine cannot listen on ${host} (${code || messageOf(error)})`
  }
}

/**
 * `localhost` means both loopback addresses, as in the services.
 * @param {string} host
 */
const addressesOf = (host) => (host === 'localhost' ? ['127.0.0.1', '::1'] : [host])
/** @param {string} host */
const bracketed = (host) => (host.includes(':') ? `[${host}]` : host)

/**
 * @param {string} address
 * @param {number} port
 * @param {string} [host]
 */
async function probe(address, port, host) {
  try {
    await close(await listen(address, port))
  } catch (error) {
    // A machine without IPv6 has only one of the two.
    const absent = ['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes(codeOf(error))
    if (!(absent && host === 'localhost' && address === '::1')) throw error
  }
}

/**
 * @param {string} host
 * @param {number} port
 * @returns {Promise<import('node:net').Server>}
 */
function listen(host, port) {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ host, port, exclusive: true }, () => resolve(server))
  })
}

/** @param {import('node:net').Server} server */
const close = (server) => new Promise((resolve) => server.close(resolve))
