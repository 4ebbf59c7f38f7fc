// A primary of Postgres, a streaming standby with a physical slot, and a stable address that leads to the primary, as the Service
// -rw of CloudNativePG or HAProxy before Patroni. It needs no pg_basebackup: the standby is a copy made between
// pg_backup_start and pg_backup_stop.
import { spawnSync } from 'node:child_process'
import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { randomSecret } from '../../../packages/dev-stack/lib/start/secrets.mjs'
import { startEmbeddedPostgres } from '../../../packages/dev-stack/lib/stores/embedded-postgres.mjs'
import { connectPostgres } from '../../../packages/service-kit/dist/index.js'
import { startTcpProxy } from './tcp-proxy.mjs'

/** @import { Handle } from '../../../packages/dev-stack/lib/processes/processes.mjs' */
/** @import { Tools } from '../workshop.mjs' */
/** @import { TcpProxy } from './tcp-proxy.mjs' */
/** @typedef {Awaited<ReturnType<typeof startPostgresReplicas>>} PostgresReplicas */
/** @typedef {{ directory: string, port: number, url: string, process: Handle }} Server */
/** @typedef {(text: string) => Promise<Record<string, any> | undefined>} Ask sends a statement and returns the first row */

const SLOT = 'standby'
const LIMIT_MS = 120_000
/** Files of the primary that its copy must not have. */
const NOT_COPIED = ['postmaster.pid', 'postmaster.opts', 'standby.signal']

/** @param {Tools} tools */
export async function startPostgresReplicas({ directory, processes }) {
  const password = randomSecret()
  let servers = 0

  /**
   * Starts a server on a data directory; `prepare` fills it first.
   * @param {(directory: string) => Promise<void>} [prepare]
   * @returns {Promise<Server>}
   */
  async function start(prepare) {
    const name = `postgres-replica-${++servers}`
    const own = path.join(directory, name)
    await prepare?.(own)
    // Durable: the settings of temporary servers turn synchronous_commit off.
    const options = { directory: own, logFile: path.join(directory, `${name}.log`), password, durable: true, processes }
    const { url, process } = await startEmbeddedPostgres(options)
    const port = Number(new URL(url('postgres')).port)
    return { directory: own, port, url: url('postgres'), process }
  }

  let primary = await start()
  const front = await startTcpProxy(primary.port)
  /** @type {Server | undefined} */
  let standby
  /** @type {TcpProxy | undefined} */
  let link
  /**
   * Process id of a former primary that stays silent.
   * @type {number | undefined}
   */
  let stopped

  /** Makes a standby of the current primary, if there is none. */
  async function addStandby() {
    if (standby !== undefined) return
    link = await startTcpProxy(primary.port)
    const followed = `host=127.0.0.1 port=${link.port} user=postgres password=${password} application_name=${SLOT}`
    standby = await start(async (own) => {
      await backUp(primary, own)
      const lines = [
        `primary_conninfo = '${followed}'`,
        `primary_slot_name = '${SLOT}'`,
        "wal_retrieve_retry_interval = '200ms'"
      ]
      appendFileSync(path.join(own, 'postgresql.auto.conf'), lines.map((line) => `${line}\n`).join(''))
      writeFileSync(path.join(own, 'standby.signal'), '')
    })
    await replicated()
  }

  /** Waits until the standby has received all that was committed until now. */
  async function replicated() {
    const row = await ask(primary.url, 'select pg_current_wal_lsn() as position')
    const arrived = `select flush_lsn >= '${row?.position}' as done from pg_stat_replication where application_name = '${SLOT}'`
    await until('the standby follows', async () => (await ask(primary.url, arrived))?.done === true)
  }

  /** Promotes the standby; the stable address leads to it. @returns the time of the end */
  async function promote() {
    if (standby === undefined) throw new Error('there is no standby')
    await ask(standby.url, 'select pg_promote(true, 30)')
    primary = standby
    standby = undefined
    front.pointTo(primary.port)
    return Date.now()
  }

  await addStandby()
  return {
    /** URL of a superuser at the stable address. */
    url: Object.assign(new URL(primary.url), { port: String(front.port) }).href,
    replicated,
    addStandby,
    promote,
    /** The stable address. */
    front,

    /**
     * Whether each commit waits until the standby has flushed it.
     * @param {boolean} isSynchronous
     */
    async setSynchronous(isSynchronous) {
      await ask(primary.url, `alter system set synchronous_standby_names = '${isSynchronous ? SLOT : ''}'`)
      await ask(primary.url, 'select pg_reload_conf()')
      const state = `select sync_state from pg_stat_replication where application_name = '${SLOT}'`
      const expected = isSynchronous ? 'sync' : 'async'
      await until(`the standby is ${expected}`, async () => (await ask(primary.url, state))?.sync_state === expected)
    },

    /** From now on the standby receives nothing; the connections stay open. */
    isolateStandby: () => link?.silence(/^/),

    /** Ends the isolation. The standby connects again and receives the rest. */
    rejoinStandby: () => link?.cut(),

    /**
     * Ends the primary, and cuts it off from the standby and all clients at once, as if its machine had failed.
     * @param {boolean} [staysSilent] its connections stay open without an answer; by default they are closed
     * @returns the time
     */
    async endPrimary(staysSilent = false) {
      const pid = Number.parseInt(readFileSync(path.join(primary.directory, 'postmaster.pid'), 'utf8'), 10)
      process.kill(pid, staysSilent ? 'SIGSTOP' : 'SIGKILL')
      if (staysSilent) {
        stopped = pid
        front.silence(/^/)
      } else front.cut()
      await link?.close()
      return Date.now()
    },

    /** Kills a former primary that stays silent. */
    removeFormer() {
      if (stopped !== undefined) process.kill(stopped, 'SIGKILL')
      stopped = undefined
    },

    async close() {
      await Promise.all([front.close(), link?.close()])
    }
  }
}

/**
 * Copies the data directory of a running server (low-level base backup). Keeps the WAL until the standby has it.
 * @param {Pick<Server, 'url' | 'directory'>} server
 * @param {string} target
 */
async function backUp({ url, directory }, target) {
  await withConnection(url, async (query) => {
    await query(`select pg_create_physical_replication_slot('${SLOT}', true)`)
    await query("select pg_backup_start('standby', true)")
    copy(directory, target)
    const stopped = await query('select labelfile from pg_backup_stop(false)')
    writeFileSync(path.join(target, 'backup_label'), stopped?.labelfile)
  })
}

/**
 * @param {string} from
 * @param {string} to
 */
function copy(from, to) {
  const { status, stderr } = spawnSync('cp', ['-a', from, to], { encoding: 'utf8' })
  // A running server removes files meanwhile; the backup does not need them.
  const problems = stderr.split('\n').filter((line) => line !== '' && !/No such file/.test(line))
  if (status !== 0 && problems.length > 0) throw new Error(`the copy failed: ${problems.join('\n')}`)
  const slots = readdirSync(path.join(to, 'pg_replslot')).map((name) => path.join('pg_replslot', name))
  for (const name of [...NOT_COPIED, ...slots]) rmSync(path.join(to, name), { recursive: true, force: true })
}

/**
 * @param {string} url
 * @param {string} text
 */
const ask = (url, text) => withConnection(url, (query) => query(text))

/**
 * @param work gets a function that sends a statement on one connection and returns the first row
 * @template Result
 * @param {string} url
 * @param {(ask: Ask) => Promise<Result>} work
 */
async function withConnection(url, work) {
  const database = connectPostgres(url, { connections: 1, statementMs: LIMIT_MS })
  try {
    return await work(async (text) => (await database.query({ name: '', text, values: [] }))[0])
  } finally {
    await database.close()
  }
}

/**
 * @param {string} what
 * @param {() => Promise<boolean>} holds
 */
async function until(what, holds) {
  const limit = Date.now() + LIMIT_MS
  while (!(await holds())) {
    if (Date.now() > limit) throw new Error(`not within ${LIMIT_MS / 1_000} seconds: ${what}`)
    await wait(50)
  }
}
