// Starts PgBouncer before a database.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../../../packages/dev-stack/lib/processes/ports.mjs'
import { nativeProgram } from '../../../packages/dev-stack/lib/processes/programs.mjs'
import { giveTo, postgresIdentity } from '../../../packages/dev-stack/lib/stores/postgres-identity.mjs'

/** @import { Tools } from '../workshop.mjs' */
/** @typedef {'session' | 'transaction' | 'statement'} PoolMode */

/**
 * The version of this `pgbouncer`; from 1.21 on it keeps prepared statements apart in transaction mode.
 * @param {string} command
 */
export function poolerVersion(command) {
  const { stdout } = spawnSync(command, ['--version'], { encoding: 'utf8' })
  const [, version = '0.0', major, minor] = /^PgBouncer ((\d+)\.(\d+)\S*)/.exec(stdout ?? '') ?? []
  return { version, keepsStatements: Number(major) > 1 || Number(minor) >= 21 }
}

/**
 * From version 1.21 on it has `max_prepared_statements` 200.
 * @param {Tools & { command: string, databaseUrl: string, mode: PoolMode, port?: number | undefined }} options `command` is the path
 *   of `pgbouncer`, `databaseUrl` the database behind it, `port` that of an earlier one
 */
export async function startPooler({ directory, processes, command, databaseUrl, mode, port: wanted }) {
  const { hostname, port: postgresPort, username, password, pathname } = new URL(databaseUrl)
  const identity = postgresIdentity()
  const port = wanted ?? (await freePort())
  const own = path.join(directory, `pooler-${mode}-${port}`)
  mkdirSync(own, { recursive: true, mode: 0o700 })
  const file = path.join(own, 'pgbouncer.ini')
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${postgresPort} user=${username} password=${decodeURIComponent(password)}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    'default_pool_size = 12',
    'max_client_conn = 200',
    'server_round_robin = 1',
    // Databases of tests come and go.
    'server_idle_timeout = 5',
    'server_login_retry = 1',
    'ignore_startup_parameters = extra_float_digits,options,statement_timeout',
    ...(poolerVersion(command).keepsStatements ? ['max_prepared_statements = 200'] : []),
    ''
  ]
  writeFileSync(file, lines.join('\n'), { mode: 0o600 })
  giveTo(identity.owner, own)
  const server = processes.start({
    name: 'PgBouncer',
    program: nativeProgram({
      prefix: identity.prefix,
      command,
      args: [file],
      // From 1.23 on, SIGTERM waits for clients.
      stopSignal: poolerVersion(command).keepsStatements ? 'SIGQUIT' : 'SIGTERM'
    }),
    environment: { PATH: process.env.PATH, LC_ALL: 'C' },
    logFile: path.join(directory, `pooler-${mode}.log`)
  })
  for (let attempt = 0; !(await isOpen(port)); attempt++) {
    if (attempt === 300) throw new Error('PgBouncer did not start')
    await wait(50)
  }
  return { url: `postgres://pooled:hush@127.0.0.1:${port}${pathname}`, stop: () => server.stop() }
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function isOpen(port) {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port })
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.unref().once('connect', () => socket.destroy())
  })
}
