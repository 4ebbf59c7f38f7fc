// Pauses Postgres and Redis: SIGSTOP stops their processes, and their connections stay open.
import { readFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { codeOf } from '../../../packages/dev-stack/lib/error-code.mjs'
import { parentOf } from '../../../packages/dev-stack/lib/processes/process-table.mjs'

/** @import { Cluster } from '../start-cluster.mjs' */

/**
 * The server process of Postgres and all its children.
 * @param {Pick<Cluster, 'query'>} cluster
 * @returns a function that resumes it
 */
export async function pausePostgres({ query }) {
  /** @type {{ pid: number }[]} */
  const [{ pid } = { pid: 0 }] = await query('select pg_backend_pid() as pid')
  const server = parentOf(pid)
  return pause([server, ...childrenOf(server)])
}

/** @param {Pick<Cluster, 'redisUrl'>} cluster */
export async function pauseRedis({ redisUrl }) {
  const [, pid] = /process_id:(\d+)/.exec(await tellRedis({ redisUrl }, 'INFO server')) ?? []
  return pause([Number(pid)])
}

/**
 * Sends one command to Redis and returns the response.
 * @param {Pick<Cluster, 'redisUrl'>} cluster
 * @param {string} command
 * @returns {Promise<string>}
 */
export function tellRedis({ redisUrl }, command) {
  const { hostname, port, password } = new URL(redisUrl)
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = createConnection({ host: hostname, port: Number(port) })
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.write(`AUTH ${decodeURIComponent(password)}\r\n${command}\r\nQUIT\r\n`)
  })
}

/**
 * @param {readonly number[]} pids
 * @returns a function that resumes the processes, except those that have ended meanwhile
 */
function pause(pids) {
  /** @param {NodeJS.Signals} signal */
  const tell = (signal) => {
    for (const pid of pids) {
      try {
        process.kill(pid, signal)
      } catch (error) {
        if (codeOf(error) !== 'ESRCH') throw error
      }
    }
  }
  tell('SIGSTOP')
  return () => tell('SIGCONT')
}

/** @param {number} pid */
const childrenOf = (pid) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
