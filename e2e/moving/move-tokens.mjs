// Moves refresh tokens of another server to a cluster with the export of docs/moving-here.md, and uses them as their clients do.
import { readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createApp, tokensIn } from '../../packages/dev-stack/lib/client/app.mjs'
import { registerClient } from '../../packages/dev-stack/lib/services/register.mjs'
import { connectPostgres } from '../../packages/service-kit/dist/index.js'

/** @import { Cluster } from '../system/start-cluster.mjs' */
/** @import { ForeignServer } from './foreign-servers.mjs' */
/** @typedef {{ sent: string, client: number, ended: boolean }} MovedToken */
/**
 * @typedef {object} Move
 * @property {number} exported lines
 * @property {Record<string, number>} dryRun
 * @property {Record<string, number>} imported
 * @property {Record<string, number>} again the second run
 * @property {number} refreshed tokens that their client exchanged for tokens of this server
 * @property {number} refused tokens that had ended at the other server
 * @property {number} repeated second uses in the retry window that got the same tokens
 * @property {number} replayed second uses after that of the successor, which ended the grant
 * @property {number} seconds that the first uses took
 * @property {number} signIns
 * @property {number} consents that users gave
 */

const CLIENTS = 5
const PARALLEL = 16
const GUIDE = new URL('../../docs/moving-here.md', import.meta.url)

/**
 * @param {Cluster} cluster
 * @param {string} name of the server, for its database
 * @param {ForeignServer} server
 * @param {number} count of live tokens; a tenth of it has ended, and a tenth is used twice
 * @returns {Promise<Move>}
 */
export async function moveTokens(cluster, name, server, count) {
  const users = Array.from({ length: Math.max(5, count / 50) }, (_, number) => `user-${number}`)
  const apps = await createApps(cluster)
  await importLines(
    cluster,
    ['users', 'import'],
    users.map((username) => JSON.stringify({ username }))
  )
  const { tokens, lines } = await fillAndExport(cluster, { name, server, users, count, apps })
  const run = (/** @type {string[]} */ ...more) => importLines(cluster, ['tokens', 'import', ...more], lines)
  const dryRun = await run('--dry-run')
  const imported = await run()
  const again = await run()
  const live = tokens.filter(({ ended }) => !ended)
  const began = performance.now()
  const uses = await inTurns(live, async ({ sent, client }, index) => {
    const app = appAt(apps, client)
    const pair = pairOf(await app.refresh(sent))
    // At once, because the retry window is shorter than all first uses together.
    const again = index < count / 10 ? pairOf(await app.refresh(sent)) : undefined
    return { pair, isRepeated: again !== undefined && again.refresh_token === pair?.refresh_token }
  })
  const pairs = uses.map(({ pair }) => pair)
  const seconds = (performance.now() - began) / 1000
  const ended = await inTurns(
    tokens.filter((token) => token.ended),
    ({ sent, client }) => appAt(apps, client).refresh(sent)
  )
  const tried = live.slice(0, count / 10)
  const replays = await inTurns(tried, ({ sent, client }, index) => endsGrant(appAt(apps, client), sent, pairs[index]))
  return {
    exported: lines.length,
    dryRun,
    imported,
    again,
    refreshed: pairs.filter((pair) => pair?.refresh_token.startsWith('vk_rt_')).length,
    refused: ended.filter(({ status, text }) => status === 400 && text.includes('invalid_grant')).length,
    repeated: countTrue(uses.map(({ isRepeated }) => isRepeated)),
    replayed: countTrue(replays),
    seconds,
    ...(await countPages(cluster))
  }
}

/** @param {Cluster} cluster */
async function createApps({ issuer, valetkey }) {
  const registered = []
  for (let index = 0; index < CLIENTS; index++) registered.push(await registerClient(valetkey))
  return registered.map((client) => ({ clientId: client.clientId, app: createApp({ issuer, ...client }) }))
}

/** @typedef {Awaited<ReturnType<typeof createApps>>} Apps */

/** @param {Apps} apps @param {number} index */
function appAt(apps, index) {
  const found = apps[index]
  if (found === undefined) throw new Error(`no app ${index}`)
  return found.app
}

/**
 * @param {Cluster} cluster
 * @param {{ name: string, server: ForeignServer, users: readonly string[], count: number, apps: Apps }} move
 */
async function fillAndExport({ postgresUrl, resource }, { name, server, users, count, apps }) {
  const old = await createDatabase(postgresUrl, `old_${name.replaceAll('-', '_')}`)
  try {
    await old.query(server.tables)
    await old.query(server.users, [users])
    const rows = Array.from({ length: count + count / 10 }, (_, number) => {
      const token = server.newToken()
      const [user, client] = [number % users.length, number % CLIENTS]
      return { ...token, number, client, user: users[user], ended: number >= count }
    })
    const clientIds = apps.map(({ clientId }) => clientId)
    const named = rows.map(({ sent: _sent, client, ...row }) => ({ ...row, client: clientIds[client] }))
    await old.query(server.tokens, [JSON.stringify(named)])
    const pairs = new Map(named.map(({ client, user }) => [`${client} ${user}`, { client, user }]))
    if (server.consents !== undefined) await old.query(server.consents, [JSON.stringify([...pairs.values()])])
    const lines = await old.query(await readExport(server.heading, resource))
    /** @type {MovedToken[]} */
    const tokens = rows
    return { tokens, lines: lines.map((row) => JSON.stringify(Object.values(row)[0])) }
  } finally {
    await old.close()
  }
}

/** The statement below a heading of the guide. @param {string} heading @param {string} audience */
async function readExport(heading, audience) {
  const [, part = ''] = (await readFile(GUIDE, 'utf8')).split(`\n## ${heading}\n`)
  const [, statement] = /```sql\n([^`]+);\n```/.exec(part.split('\n## ')[0] ?? '') ?? []
  if (statement === undefined) throw new Error(`no statement for ${heading}`)
  return statement.replaceAll(`:'api'`, `'${audience}'`)
}

/**
 * @param {string} postgresUrl
 * @param {string} database
 */
async function createDatabase(postgresUrl, database) {
  const administrator = connectPostgres(postgresUrl, { connections: 1 })
  await administrator.query({ name: '', text: `create database ${database}`, values: [] })
  await administrator.close()
  const url = new URL(postgresUrl)
  url.pathname = database
  const connected = connectPostgres(url.href, { connections: 1 })
  return {
    /**
     * @param {string} text
     * @param {readonly unknown[]} [values]
     */
    query: (text, values = []) => connected.query({ name: '', text, values, withinMs: 60_000 }),
    close: () => connected.close()
  }
}

/**
 * @param {Pick<Cluster, 'valetkey'>} cluster
 * @param {readonly string[]} command
 * @param {readonly string[]} lines
 * @returns {Promise<Record<string, number>>}
 */
async function importLines({ valetkey }, command, lines) {
  const file = path.join(tmpdir(), `moving-${process.pid}-${performance.now()}.ndjson`)
  try {
    await writeFile(file, `${lines.join('\n')}\n`)
    return await valetkey([...command, file, '--json'])
  } finally {
    await rm(file)
  }
}

/** @param {{ status: number, text: string }} answer */
const pairOf = (answer) => (answer.status === 200 ? tokensIn(answer) : undefined)

/**
 * Uses the successor of a foreign token, and then the foreign token again.
 * @param {ReturnType<typeof createApp>} app
 * @param {string} sent
 * @param {{ refresh_token: string } | undefined} pair
 */
async function endsGrant(app, sent, pair) {
  const next = pairOf(await app.refresh(pair?.refresh_token ?? ''))
  const replay = await app.refresh(sent)
  const after = await app.refresh(next?.refresh_token ?? '')
  return (
    next !== undefined && [replay, after].every(({ status, text }) => status === 400 && text.includes('invalid_grant'))
  )
}

/** What users did at this server. @param {Cluster} cluster */
async function countPages({ query }) {
  const [row] = await query(
    `select count(*) filter (where event = 'sign_in_succeeded')::integer as "signIns",
      count(*) filter (where event = 'consent_given')::integer as consents from audit_events`
  )
  return { signIns: Number(row?.signIns), consents: Number(row?.consents) }
}

/** @param {readonly boolean[]} values */
const countTrue = (values) => values.filter(Boolean).length

/**
 * Runs a task for each item, several at a time, and keeps their order.
 * @template Item, Result
 * @param {readonly Item[]} items
 * @param {(item: Item, index: number) => Promise<Result>} task
 * @returns {Promise<Result[]>}
 */
async function inTurns(items, task) {
  /** @type {Result[]} */
  const results = []
  let next = 0
  const worker = async () => {
    for (let at = next++; at < items.length; at = next++) {
      const item = items[at]
      if (item !== undefined) results[at] = await task(item, at)
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, worker))
  return results
}

/**
 * Whether every token went on without its user, and nothing else did.
 * @param {Move} move
 * @param {number} count
 */
export function isComplete({ dryRun, imported, again, ...move }, count) {
  const [tried, lines] = [count / 10, move.exported]
  return (
    [dryRun, imported].every(
      ({ tokens, consents, refused }) => tokens === count && tokens + Number(consents) === lines && refused === 0
    ) &&
    again.tokens === 0 &&
    again.existing === lines &&
    move.refreshed === count &&
    [move.refused, move.repeated, move.replayed].every((each) => each === tried) &&
    move.signIns === 0 &&
    move.consents === 0
  )
}
