// Starts Postgres with a standby, or with TLS.
import { spawnSync } from 'node:child_process'
import { appendFileSync, chmodSync, copyFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { randomSecret } from '../../../packages/dev-stack/lib/start/secrets.mjs'
import { startEmbeddedPostgres } from '../../../packages/dev-stack/lib/stores/embedded-postgres.mjs'
import { makeCertificates } from './certificates.mjs'

/** @import { Tools } from '../workshop.mjs' */

/**
 * @param {Tools & { name: string, change?: (directory: string) => void }} options `change` gets the data directory after it was created
 */
async function startCluster({ directory, processes, name, change }) {
  const options = {
    directory: path.join(directory, name),
    logFile: path.join(directory, `${name}.log`),
    password: randomSecret(),
    durable: false,
    processes
  }
  const first = await startEmbeddedPostgres(options)
  if (change === undefined) return { ...first, options }
  await first.process.stop()
  await change(options.directory)
  return { ...(await startEmbeddedPostgres(options)), options }
}

/**
 * Accepts only TLS, with a certificate of its own authority.
 * @param {Tools} tools
 * @returns the URL of a superuser, and the file of the authority
 */
export async function startPostgresWithTls({ directory, processes }) {
  const { ca, certificate, key } = makeCertificates(path.join(directory, 'postgres-certificates'))
  const server = await startCluster({
    directory,
    processes,
    name: 'postgres-tls',
    change(cluster) {
      copyFileSync(certificate, path.join(cluster, 'server.crt'))
      copyFileSync(key, path.join(cluster, 'server.key'))
      chmodSync(path.join(cluster, 'server.key'), 0o600)
      appendFileSync(path.join(cluster, 'postgresql.auto.conf'), 'ssl = on\n')
    }
  })
  return { url: server.url('postgres'), ca }
}

/**
 * Limits the number of connections.
 * @param {Tools & { maxConnections: number }} options
 */
export async function startSmallPostgres({ directory, processes, maxConnections }) {
  const options = {
    directory: path.join(directory, 'postgres-small'),
    logFile: path.join(directory, 'postgres-small.log'),
    password: randomSecret(),
    // The settings of temporary servers raise the maximum.
    durable: true,
    processes
  }
  const first = await startEmbeddedPostgres(options)
  await first.process.stop()
  appendFileSync(path.join(options.directory, 'postgresql.auto.conf'), `max_connections = ${maxConnections}\n`)
  return { url: (await startEmbeddedPostgres(options)).url('postgres') }
}

/**
 * A primary and its standby. `prepare` creates the data on the primary.
 * @template Prepared
 * @param {Tools & { prepare: (superuserUrl: string) => Promise<Prepared> }} options
 */
export async function startPostgresPair({ directory, processes, prepare }) {
  const primary = await startCluster({ directory, processes, name: 'postgres-1' })
  const prepared = await prepare(primary.url('postgres'))
  const port = Number(new URL(primary.url('postgres')).port)
  await primary.process.stop()
  const options = { ...primary.options, directory: path.join(directory, 'postgres-2') }
  const { status, stderr } = spawnSync('cp', ['-a', primary.options.directory, options.directory], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the copy failed: ${stderr}`)
  const followed = `host=127.0.0.1 port=${port} user=postgres password=${options.password}`
  appendFileSync(path.join(options.directory, 'postgresql.auto.conf'), `primary_conninfo = '${followed}'\n`)
  writeFileSync(path.join(options.directory, 'standby.signal'), '')
  const former = await startEmbeddedPostgres({ ...primary.options, port })
  const standby = await startEmbeddedPostgres({ ...options, logFile: path.join(directory, 'postgres-2.log') })
  return {
    prepared,
    /** Ports of the primary and the standby. */
    ports: /** @type {[number, number]} */ ([port, Number(new URL(standby.url('postgres')).port)]),
    standbyUrl: standby.url('postgres'),
    stopPrimary: () => former.process.stop()
  }
}
