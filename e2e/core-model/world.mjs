// The system under test: two authorization servers on real stores, users, faults, and the order of all starts and ends.
import { kill } from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { createApp } from '../../packages/dev-stack/lib/client/app.mjs'
import { REDIRECT_URI, registerResourceServer } from '../../packages/dev-stack/lib/services/register.mjs'
import { randomSecret } from '../../packages/dev-stack/lib/start/secrets.mjs'
import { pausePostgres, pauseRedis, tellRedis } from '../system/stores/pause-stores.mjs'
import { followFeed } from './feed.mjs'
import { createJar, formIn, send } from './http.mjs'

/** @import { Cluster } from '../system/start-cluster.mjs' */
/** @import { Fault } from './schedules.mjs' */
/** @typedef {Awaited<ReturnType<typeof createWorld>>} World */
/** @typedef {Awaited<ReturnType<World['borrowUser']>>} User */

const SCOPE = 'files.read'
const HOLD_LOCKS = `with locked as materialized (
    select grant_id from grants where client_id = $1 order by code_hash for no key update)
  select pg_sleep(0.025) from (select count(*) from locked) as all_locked`

/** @param {Cluster} cluster */
export async function createWorld(cluster) {
  const { issuer, resource, valetkey, authorizationServers: servers } = cluster
  const resourceServer = await registerResourceServer(valetkey, resource)
  /** @type {{ operator_key: string }} */
  const { operator_key: key } = await valetkey(['operator-keys', 'create', '--name', 'model', '--json'])
  const feeds = servers.map(({ internalPort }) => followFeed(internalPort, resourceServer))
  let place = 0
  let faults = 0
  let activeFaults = 0
  let users = 0
  let clients = 0
  /** @type {Awaited<ReturnType<typeof createUser>>[]} */
  const idle = []

  /** @param {number} index @param {string} method @param {string} path @param {object} [json] */
  function administer(index, method, path, json) {
    const headers = { authorization: `Bearer ${key}` }
    return send(portsOf(index).operatorPort, method, `/admin${path}`, { headers, ...(json && { json }) })
  }

  /** @param {number} index */
  function portsOf(index) {
    const server = servers[index]
    if (server === undefined) throw new Error(`there is no server ${index}`)
    return server
  }

  /**
   * Repeats a request of an operator until it succeeds.
   * @param {string} path
   * @param {object} [json]
   */
  async function make(path, json) {
    for (let tries = 0; tries < 100; tries++) {
      const answer = await administer(tries % 2, 'POST', path, json)
      if (answer.kind === 'answer' && answer.status < 300) return answer.body === '' ? {} : JSON.parse(answer.body)
      await wait(100)
    }
    throw new Error(`POST /admin${path} does not succeed`)
  }

  async function createUser() {
    const password = randomSecret()
    const username = `user${++users}-${randomSecret().slice(0, 6)}`
    const { user_id: userId } = await make('/users', { username, password })
    return { userId, username, password, jar: createJar(issuer), session: '', lock: Promise.resolve() }
  }

  return {
    issuer,
    resource,
    resourceServer,
    feeds,
    portsOf,
    administer,
    make,
    now: () => ({ place: ++place, at: performance.now() }),
    /** @param {string} command */
    tellRedis: (command) => tellRedis(cluster, command),
    /** Changes when a fault begins or ends; undefined during one. */
    calm: () => (activeFaults === 0 ? faults : undefined),

    /** A user whose state is known. */
    borrowUser: async () => idle.pop() ?? (await createUser()),
    /** @param {Awaited<ReturnType<typeof createUser>>} user on whom no operation is open */
    returnUser: (user) => void idle.push(user),

    async createClient() {
      const body = { name: `App ${++clients}`, redirect_uris: [REDIRECT_URI], scope: SCOPE, consent: 'remember' }
      /** @type {{ client_id: string, client_secret: string }} */
      const client = await make('/clients', body)
      const { client_id: clientId } = client
      return {
        ...client,
        start: createApp({ issuer, clientId, redirectUri: REDIRECT_URI, scope: SCOPE }).authorizeUrl()
      }
    },

    /**
     * Signs a user in; the jar has the new session.
     * @param {User} user
     * @param {string} start
     * @param {number} index
     * @returns {Promise<boolean>}
     */
    async signIn({ jar, username, password }, start, index) {
      const { publicPort } = portsOf(index)
      const page = await follow(jar, publicPort, await jar.visit(publicPort, start))
      if (page.kind !== 'answer' || !page.body.includes('name="password"')) return false
      const { action, fields } = formIn(page.body)
      const answer = await jar.visit(publicPort, action, { ...fields, username, password })
      return answer.kind === 'answer' && answer.status === 303
    },

    /**
     * Holds the locks of the grants of a client for a moment, so that statements that wait for them run at the same time.
     * @param {string} clientId
     */
    holdLocks: (clientId) => cluster.query(HOLD_LOCKS, [clientId]).catch(() => {}),

    /** @param {number} milliseconds */
    setLatency(milliseconds) {
      for (const { postgres, redis } of servers) for (const proxy of [postgres, redis]) proxy.delay(milliseconds)
    },

    /** @param {Fault} fault */
    async cause({ kind, server, atMs, forMs }) {
      if (kind === 'none') return
      await wait(atMs)
      faults += 1
      activeFaults += 1
      try {
        await FAULT[kind](portsOf(server), cluster, forMs)
      } finally {
        activeFaults -= 1
      }
    },

    stop: () => Promise.all(feeds.map((feed) => feed.stop()))
  }
}

/**
 * Follows redirects of the issuer.
 * @param {ReturnType<typeof createJar>} jar
 * @param {number} port
 * @param {import('./http.mjs').Answer} answer
 */
async function follow(jar, port, answer) {
  let page = answer
  for (let hops = 0; page.kind === 'answer' && page.status === 303 && hops < 5; hops++) {
    if (page.location.startsWith(REDIRECT_URI)) return page
    page = await jar.visit(port, page.location)
  }
  return page
}

/** @typedef {Cluster['authorizationServers'][number]} Server */
/** @type {Record<Exclude<Fault['kind'], 'none'>, (server: Server, cluster: Cluster, forMs: number) => Promise<void>>} */
const FAULT = {
  crash: (server) => server.crash(),
  async stalled_server({ pid }, _cluster, forMs) {
    kill(pid, 'SIGSTOP')
    await wait(forMs)
    kill(pid, 'SIGCONT')
  },
  async stalled_postgres(_server, cluster, forMs) {
    const resume = await pausePostgres(cluster)
    await wait(forMs)
    resume()
  },
  async stalled_redis(_server, cluster, forMs) {
    const resume = await pauseRedis(cluster)
    await wait(forMs)
    resume()
  },
  // What a server sees of a failover: its connections are gone, and whether the last statements were executed is unknown.
  lost_postgres: async ({ postgres }) => postgres.cut(),
  lost_redis: async ({ redis }) => redis.cut()
}
