// Starts Redis with a replica and three Sentinels, or with TLS and a separate user.
import { mkdirSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../../../packages/dev-stack/lib/processes/ports.mjs'
import { nativeProgram } from '../../../packages/dev-stack/lib/processes/programs.mjs'
import { randomSecret } from '../../../packages/dev-stack/lib/start/secrets.mjs'
import { makeCertificates } from './certificates.mjs'

/** @import { Socket } from 'node:net' */

/** @import { Handle } from '../../../packages/dev-stack/lib/processes/processes.mjs' */

/** @import { Tools } from '../workshop.mjs' */
/** @typedef {Tools & { command: string }} RedisTools `command` is the path of the server */
/** @typedef {Awaited<ReturnType<typeof startPlainRedis>>} PlainRedis */

const NAME = 'mymaster'
const SENTINELS = 3

/**
 * A primary, a replica, and Sentinels with their own password.
 * @param {RedisTools} tools
 */
export async function startSentinels({ directory, processes, command }) {
  const [password, sentinelPassword] = [randomSecret(), randomSecret()]
  /** @type {(name: string, port: number, lines: readonly string[], args?: readonly string[]) => Handle} */
  const run = (name, port, lines, args = []) => startServer({ directory, processes, command, name, port, lines, args })
  const [primaryPort, replicaPort] = [await freePort(), await freePort()]
  const data = [
    `requirepass ${password}`,
    `masterauth ${password}`,
    'save ""',
    'appendonly no',
    'repl-diskless-sync-delay 0'
  ]
  /** @type {Map<number, Handle>} */
  const servers = new Map()
  servers.set(primaryPort, run('redis-1', primaryPort, data))
  servers.set(replicaPort, run('redis-2', replicaPort, [...data, `replicaof 127.0.0.1 ${primaryPort}`]))
  /** @type {number[]} */
  const ports = []
  for (let number = 1; number <= SENTINELS; number++) {
    const port = await freePort()
    ports.push(port)
    const watch = [
      `requirepass ${sentinelPassword}`,
      `sentinel sentinel-pass ${sentinelPassword}`,
      `sentinel monitor ${NAME} 127.0.0.1 ${primaryPort} 2`,
      `sentinel auth-pass ${NAME} ${password}`,
      `sentinel down-after-milliseconds ${NAME} 1000`,
      `sentinel failover-timeout ${NAME} 5000`
    ]
    run(`sentinel-${number}`, port, watch, ['--sentinel'])
  }
  /** @param {number} port @returns {Promise<number[]>} port of the primary, replicas, Sentinels */
  const state = async (port) => {
    const answer = await ask(port, sentinelPassword, 'INFO sentinel')
    return /address=127\.0\.0\.1:(\d+),slaves=(\d+),sentinels=(\d+)/.exec(answer)?.slice(1).map(Number) ?? []
  }
  await until('the Sentinels know each other', async () => {
    const states = await Promise.all(ports.map(state))
    return states.every(([, replicas, sentinels]) => replicas === 1 && sentinels === SENTINELS)
  })
  await until('the replica follows', async () =>
    (await ask(replicaPort, password, 'INFO replication')).includes('master_link_status:up')
  )
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',')
  const primary = async () => (await state(Number(ports[0])))[0]
  return {
    url: `redis+sentinel://:${password}@${hosts}/${NAME}/0?sentinelPassword=${sentinelPassword}`,
    primary,
    /** Resolves when the replica has all earlier writes. */
    replicated: () =>
      until('the replica has it', async () =>
        // Replication keeps the order, so all earlier writes have arrived with this one.
        (await ask(Number(await primary()), password, 'SET test:mark 1\r\nWAIT 1 500')).includes(':1\r\n')
      ),
    /** Kills the primary. Resolves when the Sentinels have promoted another one. */
    async killPrimary() {
      const former = await primary()
      servers.get(Number(former))?.child.kill('SIGKILL')
      await until('another primary', async () => (await primary()) !== former)
    }
  }
}

/**
 * A server with a password and these lines in its configuration; `tell` sends a command as its administrator.
 * @param {RedisTools & { name: string, lines?: readonly string[] }} options
 */
export async function startPlainRedis({ directory, processes, command, name, lines = [] }) {
  const [port, password] = [await freePort(), randomSecret()]
  const own = [`requirepass ${password}`, 'save ""', 'appendonly no', ...lines]
  startServer({ directory, processes, command, name, port, lines: own, args: [] })
  await until('a port that listens', () => isOpen(port))
  return {
    port,
    url: `redis://:${password}@127.0.0.1:${port}/0`,
    /** @param {string} question */
    tell: (question) => ask(port, password, question)
  }
}

/** The permissions that a service needs, as in docs/databases.md. */
export const RIGHTS = '~* resetchannels -@all +@read +@write +@scripting +@connection +@transaction +info +time'

/**
 * Accepts only TLS and a user with the permissions that a service needs.
 * @param {RedisTools} tools
 */
export async function startSecuredRedis({ directory, processes, command }) {
  const { ca, certificate, key } = makeCertificates(path.join(directory, 'redis-certificates'))
  const [port, password] = [await freePort(), randomSecret()]
  const lines = [
    `tls-port ${port}`,
    `tls-cert-file ${certificate}`,
    `tls-key-file ${key}`,
    `tls-ca-cert-file ${ca}`,
    'tls-auth-clients no',
    'user default off',
    `user valetkey on >${password} ${RIGHTS}`,
    'save ""'
  ]
  startServer({ directory, processes, command, name: 'redis', port: 0, lines, args: [] })
  await until('a port that listens', () => isOpen(port))
  return { url: `rediss://valetkey:${password}@127.0.0.1:${port}/0`, settings: { REDIS_CA_FILE: ca } }
}

/** @param {RedisTools & { name: string, port: number, lines: readonly string[], args?: readonly string[] }} options */
export function startServer({ directory, processes, command, name, port, lines, args = [] }) {
  const own = path.join(directory, name)
  mkdirSync(own, { recursive: true, mode: 0o700 })
  const file = path.join(own, 'redis.conf')
  // A Sentinel writes to its configuration file.
  writeFileSync(file, ['bind 127.0.0.1', `port ${port}`, `dir ${own}`, ...lines, ''].join('\n'), { mode: 0o600 })
  return processes.start({
    name,
    program: nativeProgram({ command, args: [file, ...args], stopSignal: 'SIGTERM' }),
    environment: { PATH: process.env.PATH, LC_ALL: 'C' },
    logFile: path.join(directory, `${name}.log`),
    isStore: true
  })
}

/**
 * @param open opens a connection, by default without TLS
 * @param {number} port
 * @param {string} password
 * @param {string} question
 * @param {(address: { host: string, port: number }) => Socket} [open]
 * @returns {Promise<string>}
 */
export function ask(port, password, question, open = createConnection) {
  return new Promise((resolve) => {
    let answer = ''
    const socket = open({ host: '127.0.0.1', port })
    socket.setTimeout(1_000, () => socket.destroy())
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer))
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.write(`AUTH ${password}\r\n${question}\r\nQUIT\r\n`)
  })
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
export function isOpen(port) {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/**
 * @param {string} what
 * @param {() => Promise<boolean>} holds
 */
export async function until(what, holds) {
  const limit = Date.now() + 120_000
  while (!(await holds())) {
    if (Date.now() > limit) throw new Error(`not within two minutes: ${what}`)
    await wait(100)
  }
}
