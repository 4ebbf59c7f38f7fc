// The Redis of this checkout: the server on PATH, run on a free port of the loopback interface.
import { mkdirSync } from 'node:fs'
import { createConnection } from 'node:net'
import { lastLines } from '../processes/logs.mjs'
import { freePort } from '../processes/ports.mjs'
import { findOnPath, nativeProgram } from '../processes/programs.mjs'

/** @import { Handle, Processes } from '../processes/processes.mjs' */

const READY_TIME_LIMIT_MS = 120_000
const ATTEMPTS = 3

/** No npm package contains a Redis server, so it must be installed. */
export const findRedisServer = () => findOnPath(['redis-server', 'valkey-server'])

/**
 * @param {{ command: string, directory: string, password: string, durable: boolean, databases?: number, logFile: string,
 *   processes: Processes }} options
 */
export async function startRedis({ command, directory, password, durable, databases = 16, logFile, processes }) {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort()
    const server = processes.start({
      name: 'Redis',
      program: nativeProgram({ command, args: ['-'], stopSignal: 'SIGTERM' }),
      environment: { ...process.env, LC_ALL: 'C' },
      logFile,
      isStore: true,
      // The password is sent on standard input, because any local user can read arguments.
      input: configuration({ port, directory, password, durable, databases })
    })
    if (await becomesReady(server, port, password)) {
      return { url: `redis://:${password}@127.0.0.1:${port}/0`, process: server }
    }
    await server.stop()
    if (attempt === ATTEMPTS) throw new Error(`Redis did not start. Last lines of its log:\n${lastLines(server)}`)
  }
}

/** @param {{ port: number, directory: string, password: string, durable: boolean, databases: number }} options */
const configuration = ({ port, directory, password, durable, databases }) =>
  [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir ${JSON.stringify(directory)}`,
    `appendonly ${durable ? 'yes' : 'no'}`,
    'save ""',
    `databases ${databases}`,
    'daemonize no',
    ''
  ].join('\n')

/**
 * @param {Handle} server
 * @param {number} port
 * @param {string} password
 */
async function becomesReady(server, port, password) {
  let ended = false
  server.exited.then(() => {
    ended = true
  })
  const deadline = Date.now() + READY_TIME_LIMIT_MS
  while (!ended && Date.now() < deadline) {
    // Authenticate before the ping: another server on this port refuses the password.
    const answer = await ask(port, `AUTH ${password}\r\nPING\r\n`)
    if (answer.startsWith('+OK\r\n+PONG')) return true
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
  return false
}

/**
 * @param {number} port
 * @param {string} question
 * @returns {Promise<string>}
 */
function ask(port, question) {
  return new Promise((resolve) => {
    let answer = ''
    const socket = createConnection({ host: '127.0.0.1', port })
    socket.setTimeout(1_000, () => socket.destroy())
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer))
    socket.on('data', (chunk) => {
      answer += chunk
      if (answer.split('\r\n').length > 2) socket.end()
    })
    socket.end(question)
  })
}
