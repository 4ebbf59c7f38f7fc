// Starts a Redis Cluster: one node with all slots, or three primaries with a replica each, also with TLS.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { connect } from 'node:tls'
import { freePort } from '../../../packages/dev-stack/lib/processes/ports.mjs'
import { randomSecret } from '../../../packages/dev-stack/lib/start/secrets.mjs'
import { makeCertificates } from './certificates.mjs'
import { ask, isOpen, RIGHTS, startPlainRedis, startServer, until } from './redis-servers.mjs'

/** @import { Socket } from 'node:net' */
/** @import { Handle } from '../../../packages/dev-stack/lib/processes/processes.mjs' */
/** @import { RedisTools } from './redis-servers.mjs' */
/** @typedef {Awaited<ReturnType<typeof startRedisCluster>>} RedisCluster */

const SLOTS = 16_384
const PRIMARIES = 3
const HOST = 'localhost'

/**
 * A Cluster of one node with all slots. Its URL is that of one server.
 * @param {RedisTools} tools
 */
export async function startOneNodeCluster(tools) {
  const server = await startPlainRedis({ ...tools, name: 'redis-cluster', lines: ['cluster-enabled yes'] })
  await server.tell(`CLUSTER ADDSLOTSRANGE 0 ${SLOTS - 1}`)
  await until('a Cluster', async () => (await server.tell('CLUSTER INFO')).includes('cluster_state:ok'))
  return server
}

/**
 * Three primaries with a replica each, which accept only TLS, and a user with the permissions of docs/databases.md. The
 * certificate has a name only, so the nodes announce it.
 * @param {RedisTools} tools
 */
export async function startSecuredRedisCluster(tools) {
  const files = makeCertificates(path.join(tools.directory, 'redis-certificates'), { names: `DNS:${HOST}` })
  const password = randomSecret()
  const ca = readFileSync(files.ca)
  const cluster = await startRedisCluster({
    ...tools,
    configure: (port) => [
      'port 0',
      `tls-port ${port}`,
      'tls-cluster yes',
      'tls-replication yes',
      'tls-auth-clients no',
      `tls-cert-file ${files.certificate}`,
      `tls-key-file ${files.key}`,
      `tls-ca-cert-file ${files.ca}`,
      `cluster-announce-hostname ${HOST}`,
      'cluster-preferred-endpoint-type hostname',
      `user valetkey on >${password} ${RIGHTS} +cluster|slots +cluster|info`
    ],
    open: (address) => connect({ ...address, ca, servername: HOST })
  })
  const nodes = cluster.ports.slice(0, 2).map((port) => `${HOST}:${port}`)
  return {
    ...cluster,
    url: `rediss+cluster://valetkey:${password}@${nodes}`,
    settings: { REDIS_CA_FILE: files.ca }
  }
}

/**
 * Three primaries with a replica each. A node is its port.
 * @param {RedisTools & { configure?: (port: number) => readonly string[],
 *   open?: (address: { host: string, port: number }) => Socket }} options `configure` returns more lines of a node's configuration,
 *   `open` opens a connection for administration
 */
export async function startRedisCluster({ directory, processes, command, configure = () => [], open }) {
  const password = randomSecret()
  /** @type {Map<number, { busPort: number, started: Handle }>} */
  const servers = new Map()
  for (let number = 1; number <= 2 * PRIMARIES; number++) {
    const [port, busPort] = [await freePort(), await freePort()]
    const lines = [
      `requirepass ${password}`,
      `masterauth ${password}`,
      'save ""',
      'appendonly no',
      'repl-diskless-sync-delay 0',
      'cluster-enabled yes',
      `cluster-port ${busPort}`,
      'cluster-node-timeout 1500',
      ...configure(port)
    ]
    const name = `redis-cluster-${number}`
    const started = startServer({ directory, processes, command, name, port, lines, args: [] })
    servers.set(port, { busPort, started })
  }
  const ports = [...servers.keys()]
  /** @type {(port: number, question: string) => Promise<string>} */
  const tell = (port, question) => ask(port, password, question, open)
  await Promise.all(ports.map((port) => until('a port that listens', () => isOpen(port))))
  const [first = 0] = ports
  await join()

  async function join() {
    const [primaries, replicas] = [ports.slice(0, PRIMARIES), ports.slice(PRIMARIES)]
    for (const [index, port] of primaries.entries()) {
      const [from = 0, to = 0] = [index, index + 1].map((part) => Math.floor((SLOTS * part) / PRIMARIES))
      await tell(port, `CLUSTER ADDSLOTSRANGE ${from} ${to - 1}`)
      // Without an epoch of its own each, nodes cannot agree on slots.
      await tell(port, `CLUSTER SET-CONFIG-EPOCH ${index + 1}`)
    }
    for (const port of ports.slice(1))
      await tell(port, `CLUSTER MEET 127.0.0.1 ${first} ${servers.get(first)?.busPort}`)
    await until('all nodes know each other', async () => {
      const lists = await Promise.all(ports.map((port) => nodes(port)))
      return lists.every(
        (list) => list.length === ports.length && list.every(({ flags }) => !flags.includes('handshake'))
      )
    })
    for (const [index, port] of replicas.entries())
      await tell(port, `CLUSTER REPLICATE ${await idOf(Number(primaries[index]))}`)
    await until('every primary has a replica', async () =>
      (await Promise.all(replicas.map((port) => tell(port, 'INFO replication')))).every((said) =>
        said.includes('master_link_status:up')
      )
    )
    await until('a Cluster', async () =>
      (await Promise.all(ports.map((port) => tell(port, 'CLUSTER INFO')))).every((said) =>
        said.includes('cluster_state:ok')
      )
    )
  }

  /** @param {number} port */
  async function nodes(port) {
    const lines = (await tell(port, 'CLUSTER NODES')).split(/\r?\n/).filter((line) => /^[0-9a-f]{40} /.test(line))
    return lines.map((line) => {
      const [id, address = '', flags = ''] = line.split(' ')
      return { id, port: Number(/:(\d+)@/.exec(address)?.[1]), flags: flags.split(',') }
    })
  }

  /** @param {number} port */
  async function idOf(port) {
    return (await nodes(port)).find(({ flags }) => flags.includes('myself'))?.id
  }

  /**
   * A node whose process has not ended, other than this one.
   * @param {number} [except]
   */
  function runningNode(except) {
    const found = [...servers].find(([port, { started }]) => port !== except && isRunning(started))
    return found?.[0] ?? 0
  }

  /** The primaries that a running node sees. */
  async function primaries(seenBy = runningNode()) {
    const alive = (await nodes(seenBy)).filter(({ flags }) => flags.includes('master') && !flags.includes('fail'))
    return alive.map(({ port }) => port)
  }

  return {
    url: `redis+cluster://:${password}@127.0.0.1:${first},127.0.0.1:${ports[1]}`,
    ports,
    primaries,
    tell,
    /** A primary whose replica has all earlier writes. */
    async replicated() {
      const said = await Promise.all(
        (await primaries()).map(async (port) => ({ port, state: await tell(port, 'INFO replication') }))
      )
      const { port = 0 } = said.find(({ state }) => state.includes('connected_slaves:1')) ?? {}
      await until('the replica has it', async () => /:[1-9]/.test(await tell(port, 'WAIT 1 500')))
      return port
    },
    /**
     * Sends a signal to a primary. Resolves when the others have promoted its replica.
     * @param {number} port
     * @param {'SIGKILL' | 'SIGSTOP'} signal
     */
    async fail(port, signal) {
      const witness = runningNode(port)
      servers.get(port)?.started.child.kill(signal)
      await until('another primary', async () => {
        const now = await primaries(witness)
        return now.length === PRIMARIES && !now.includes(port)
      })
    },
    /** Lets the stopped nodes continue. */
    resume() {
      for (const { started } of servers.values()) started.child.kill('SIGCONT')
    },
    /**
     * Moves slots that have keys from one primary to another, one after the other.
     * @param {number} from
     * @param {number} to
     * @param {number} most
     */
    async moveSlots(from, to, most) {
      const [fromId, toId] = [await idOf(from), await idOf(to)]
      for (const slot of (await usedSlots(from)).slice(0, most)) {
        await tell(to, `CLUSTER SETSLOT ${slot} IMPORTING ${fromId}`)
        await tell(from, `CLUSTER SETSLOT ${slot} MIGRATING ${toId}`)
        for (let keys = await keysIn(from, slot); keys.length > 0; keys = await keysIn(from, slot)) {
          await tell(from, `MIGRATE 127.0.0.1 ${to} "" 0 1000 AUTH ${password} KEYS ${keys.join(' ')}`)
        }
        for (const port of [to, from]) await tell(port, `CLUSTER SETSLOT ${slot} NODE ${toId}`)
      }
    }
  }

  /** @param {number} port */
  async function usedSlots(port) {
    const keys = namesIn(await tell(port, 'KEYS vk:*'))
    const slots = await Promise.all(
      keys.map(async (key) => /:(\d+)/.exec(await tell(port, `CLUSTER KEYSLOT ${key}`))?.[1])
    )
    return [...new Set(slots)]
  }

  /**
   * @param {number} port
   * @param {string | undefined} slot
   */
  async function keysIn(port, slot) {
    return namesIn(await tell(port, `CLUSTER GETKEYSINSLOT ${slot} 100`))
  }
}

/** @param {string} said */
const namesIn = (said) => [...said.matchAll(/\$\d+\r\n(vk:\S+)\r\n/g)].map(([, key]) => key)

/** @param {Handle} handle */
const isRunning = ({ child: { exitCode, signalCode } }) => exitCode === null && signalCode === null
