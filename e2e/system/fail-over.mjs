// One failover of Postgres under load: flows and endings run, the primary is killed, the standby is promoted, and everything
// that got a response is compared with what the service accepts afterwards.
import { setTimeout as wait } from 'node:timers/promises'
import { prepareEndings } from './load/endings.mjs'
import { createFlows, evaluateFlows, untilWell } from './load/flows.mjs'
import { createLedger } from './load/token-ledger.mjs'
import { startWorld } from './start-world.mjs'
import { startPostgresReplicas } from './stores/postgres-replicas.mjs'

/** @import { PostgresReplicas } from './stores/postgres-replicas.mjs' */
/** @import { Store, World, WorldOptions } from './start-world.mjs' */
/** @import { Administer } from './load/endings.mjs' */
/** @typedef {World<Store, PostgresReplicas>} ReplicatedWorld */
/** @typedef {ReturnType<typeof createLedger>} Ledger */
/**
 * @typedef {object} FailOverOptions
 * @property {boolean} isSynchronous whether each commit waits for the standby. If not, the standby receives nothing in the last
 *   time before the failover
 * @property {(ledger: Ledger, isolatedAt: number) => Promise<void>} [untilKilled] waits until the primary may be killed
 * @property {number} [detectionMs] between the end of the primary and the promotion
 * @property {boolean} [staysSilent] the connections to the primary stay open without an answer, as after a loss of power
 */

const SESSIONS = 3
const LIMIT_MS = 120_000

/**
 * A world whose services reach Postgres at the stable address of a primary and a standby.
 * @param {WorldOptions<Store, PostgresReplicas>} [options]
 */
export const startReplicatedWorld = (options) =>
  startWorld({
    size: 1,
    cacheSeconds: 60,
    // One user and one client send far more requests than usual.
    settings: { LIMITS_FACTOR: '1000' },
    startDatabase: startPostgresReplicas,
    ...options
  })

/** @param {ReplicatedWorld} world */
export async function prepareFailovers(world) {
  const { fleet, app, postgres } = world
  const administer = await prepareAdministration(world)
  const credential = { name: 'Ledger', audience: world.resource }
  /** @type {{ client_id: string, client_secret: string }} */
  const resourceServer = JSON.parse(await (await administer('/resource-servers', credential)).text())
  const endings = await prepareEndings(world, administer)

  /** Times of the result are milliseconds since 1970. @param {FailOverOptions} options */
  return async function failOver({ isSynchronous, untilKilled = enough, detectionMs = 0, staysSilent = false }) {
    const ledger = createLedger(world, resourceServer)
    const own = { issuer: fleet.issuer, filesUrl: fleet.filesUrl, onTokens: ledger.note, repeatsExchanges: true }
    const flows = createFlows({ ...app, ...own })
    await postgres.addStandby()
    await postgres.setSynchronous(isSynchronous)
    const sessions = await Promise.all(Array.from({ length: SESSIONS }, flows.signIn))
    await endings.fill()
    await postgres.replicated()

    const load = flows.run(sessions)
    const ending = endings.run((one) => ledger.endings.push(one))
    await untilWell(flows.seen)
    await enough(ledger, Date.now())
    const replicatedUntil = Date.now()
    await postgres.replicated()
    // Asynchronous replication is always late by a random time. Here the standby is late by a known one.
    if (!isSynchronous) postgres.isolateStandby()
    const isolatedAt = Date.now()
    await untilKilled(ledger, isolatedAt)
    // A later ending would also end what the failover has made valid again.
    if (!isSynchronous) await ending.stop()
    const killedAt = await postgres.endPrimary(staysSilent)
    await until(() => evaluateFlows(flows.seen, killedAt).unavailable > 0)
    await wait(detectionMs)
    const promotedAt = await postgres.promote()
    await untilWell(flows.seen, { from: promotedAt })
    await Promise.all([load.stop(), ending.stop()])

    const compared = await ledger.compare()
    postgres.removeFormer()
    const after = evaluateFlows(flows.seen, replicatedUntil)
    return {
      ...compared,
      /** All access tokens of flows. */
      answered: ledger.answered(),
      endings: ledger.endings,
      /** Requests of flows until `replicatedUntil`, and later ones. */
      before: evaluateFlows(flows.seen, 0, replicatedUntil),
      after,
      /** The standby has all that was answered before. */
      replicatedUntil,
      /** If asynchronous, the standby receives nothing from then on. */
      isolatedAt,
      killedAt,
      promotedAt,
      /** Milliseconds from the promotion to the last request that got 503. */
      recoveryMs: Math.max(0, ...after.unavailableAt.map((at) => at - promotedAt))
    }
  }
}

/**
 * @param {ReplicatedWorld} world
 * @returns {Promise<Administer>} a function that sends a request to `/admin`
 */
async function prepareAdministration({ fleet, valetkey }) {
  const { operator_key: key } = await valetkey(['operator-keys', 'create', '--name', 'failovers', '--json'])
  const [instance] = fleet.instances['authorization-server']
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return (path, json) =>
    fetch(`http://127.0.0.1:${instance?.ports.OPERATOR_LISTEN}/admin${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(json)
    })
}

/**
 * Waits until tokens and every kind of ending were answered.
 * @param {Ledger} ledger
 * @param {number} from
 */
async function enough(ledger, from) {
  await until(() => {
    const since = ledger.endings.filter(({ at }) => at > from)
    const tokens = ledger.answered().filter(({ at }) => at > from)
    return new Set(since.map(({ name }) => name)).size === 3 && tokens.length >= 20
  })
}

/** @param {() => boolean} holds */
async function until(holds) {
  const limit = Date.now() + LIMIT_MS
  while (!holds()) {
    if (Date.now() > limit) throw new Error('the load makes no progress')
    await wait(20)
  }
}
