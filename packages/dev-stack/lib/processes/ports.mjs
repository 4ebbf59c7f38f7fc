// Finds free TCP addresses.
import { createServer } from 'node:net'

/** A port that is free now. The caller handles the rare case that another program takes it first. */
export async function freePort() {
  const server = await listen('127.0.0.1', 0)
  const { port } = server.address()
  await close(server)
  return port
}

/**
 * @param {{ variable: string, what: string, host: string, port: number }[]} listeners
 * @returns {Promise<string[]>} one line for each address that is in use
 */
export async function findPortProblems(listeners) {
  const problems = []
  for (const listener of listeners) {
    const problem = await findProblem(listener)
    if (problem !== undefined) problems.push(problem)
  }
  return problems
}

async function findProblem({ variable, what, host, port }) {
  try {
    for (const address of addressesOf(host)) await probe(address, port, host)
    return undefined
  } catch (error) {
    const where = `Port ${port} for the ${what}`
    const advice = `choose another port: ${variable}=${bracketed(host)}:${port + 1000 > 65535 ? port - 1000 : port + 1000}`
    if (error.code === 'EADDRINUSE') return `${where} is used by another program. Stop that program, or ${advice}`
    if (error.code === 'EACCES') return `${where} needs more privileges; ${advice}`
    return `${variable}: this machine cannot listen on ${host} (${error.code ?? error.message})`
  }
}

/** `localhost` means both loopback addresses, as in the services. */
const addressesOf = (host) => (host === 'localhost' ? ['127.0.0.1', '::1'] : [host])
const bracketed = (host) => (host.includes(':') ? `[${host}]` : host)

async function probe(address, port, host) {
  try {
    await close(await listen(address, port))
  } catch (error) {
    // A machine without IPv6 has only one of the two.
    const absent = error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT'
    if (!(absent && host === 'localhost' && address === '::1')) throw error
  }
}

function listen(host, port) {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ host, port, exclusive: true }, () => resolve(server))
  })
}

const close = (server) => new Promise((resolve) => server.close(resolve))
