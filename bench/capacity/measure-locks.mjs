// Measures what Postgres does one after the other: commits that notify, and locks of the same row.
import { performance } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { connectPostgres } from '../../packages/service-kit/dist/index.js'
import { createConsentStore } from '../../services/authorization-server/dist/storage/postgres/consents.js'
import { administer } from '../lib/stores.mjs'
import { SCOPE } from '../lib/test-data.mjs'
import { since } from './meters.mjs'

const CHANNEL = 'valetkey_revocations'
const CONNECTIONS = 8

/**
 * Notifications as of other processes, to the running authorization servers and to `listeners` other connections.
 * @returns processor seconds of Postgres for each delivery (`delivered`) and each notification (`committed`), and of an
 *   authorization server for each notification (`received`); how many transactions that notify Postgres commits in a second,
 *   with 8 connections
 */
export async function measureNotifications({ stores, meters }, { perSecond, seconds, listeners }) {
  const databaseUrl = stores.databaseUrls[0]
  const clients = []
  for (let index = 0; index <= listeners; index++) {
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    clients.push(client)
  }
  const [sender, ...others] = clients
  // Authorization servers ignore a pulse of another process.
  const notify = () => sender.query('select pg_notify($1, $2)', [CHANNEL, '{"pulse":"other","sent":0}'])
  const few = await spend(notify)
  for (const other of others) await other.query(`listen ${CHANNEL}`)
  const many = await spend(notify)
  for (const other of others) await other.query(`unlisten ${CHANNEL}`)
  const commits = await notifyingCommits(clients.slice(0, CONNECTIONS), seconds)
  for (const client of clients) await client.end()
  const delivered = (many.postgres - few.postgres) / few.count / listeners
  return {
    delivered,
    committed: Math.max(0, few.postgres / few.count - delivered),
    received: Math.max(0, few.authorizationServer / few.count),
    commitsPerSecond: commits
  }

  async function spend(send) {
    const idle = await timed(async () => wait(seconds * 1_000))
    const count = perSecond * seconds
    const busy = await timed(async () => {
      const begun = performance.now()
      for (let number = 0; number < count; number++) {
        await send()
        await wait(Math.max(0, begun + ((number + 1) * 1_000) / perSecond - performance.now()))
      }
    })
    const of = (name) => busy[name] - (idle[name] / idle.seconds) * busy.seconds
    return { count, postgres: of('postgres'), authorizationServer: of('authorizationServer') }
  }

  async function timed(work) {
    const before = await meters.read()
    await work()
    return since(before, await meters.read())
  }
}

/** Each transaction writes a row and notifies, as a revocation does. Postgres commits them one after the other. */
async function notifyingCommits(clients, seconds) {
  const end = performance.now() + seconds * 1_000
  let commits = 0
  await clients[0].query('create table if not exists notified (number integer)')
  const loop = async (client) => {
    while (performance.now() < end) {
      await client.query('with one as (insert into notified values (1)) select pg_notify($1, $2)', [
        CHANNEL,
        `{"pulse":"other","sent":${commits}}`
      ])
      commits++
    }
  }
  await Promise.all(clients.map(loop))
  return commits / seconds
}

/**
 * The hottest rows: each remembered consent locks the rows of its client and its scopes.
 * @returns how many users can allow one client in a second
 */
export async function measureConsents({ stores, target }, seconds) {
  const url = stores.databaseUrls[0]
  const users = await administer(url, 'select user_id from users')
  const database = connectPostgres(url, { connections: CONNECTIONS })
  const consents = createConsentStore(database)
  const [generations] = await administer(
    url,
    `select u.generation as "userGeneration", c.generation as "clientGeneration",
        u.authorization_generation + c.authorization_generation as "authorizationGeneration"
      from users u cross join clients c where c.client_id = '${target.client.id}' limit 1`
  )
  const end = performance.now() + seconds * 1_000
  let next = 0
  const loop = async () => {
    while (performance.now() < end && next < users.length) {
      const { user_id: userId } = users[next++]
      const key = { userId, clientId: target.client.id, audience: target.resourceUrl }
      await consents.remember(key, { scope: [SCOPE], ...generations })
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, loop))
  await database.close()
  const [{ count }] = await administer(url, 'select count(*)::integer as count from consents')
  if (count < next) throw new Error(`${next} consents were remembered, but ${count} are stored`)
  return next / seconds
}
