// Finds free TCP addresses.
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { codeOf, messageOf } from '../error-code.mjs'

/** @typedef {{ variable: string, what: string, host: string, port: number }} Listener */

// These are below the ports that Linux, macOS and Windows give to outgoing connections: one of those could take the port
// meanwhile.
const [FIRST, LAST] = [12_000, 32_000]

/** Ports that browsers and fetch refuse to open (Fetch Standard, "bad port"): other protocols use them. */
const BLOCKED_PORTS = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080
])

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
