// Pauses Postgres and Redis: SIGSTOP stops their processes, and their connections stay open.
import { readFileSync } from 'node:fs'
import { createConnection } from 'node:net'

/** The server process of Postgres and all its children. */
export async function pausePostgres({ query }) {
  const [{ pid }] = await query('select pg_backend_pid() as pid')
  const server = parentOf(pid)
  return pause([server, ...childrenOf(server)])
}

export async function pauseRedis({ redisUrl }) {
  const [, pid] = /process_id:(\d+)/.exec(await tellRedis({ redisUrl }, 'INFO server'))
  return pause([Number(pid)])
}

/** Sends one command to Redis and returns the response. */
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

/** @returns a function that resumes the processes, except those that have ended meanwhile */
function pause(pids) {
  const tell = (signal) => {
    for (const pid of pids) {
      try {
        process.kill(pid, signal)
      } catch (error) {
        if (error.code !== 'ESRCH') throw error
      }
    }
  }
  tell('SIGSTOP')
  return () => tell('SIGCONT')
}

const parentOf = (pid) => Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))[1])

const childrenOf = (pid) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
