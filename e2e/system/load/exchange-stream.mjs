// Clients that exchange codes at a constant rate while a store stalls, and the responses that they get.
import { setTimeout as wait } from 'node:timers/promises'
import { exchangeForm } from '../../../packages/dev-stack/lib/client/app.mjs'
import { REDIRECT_URI } from '../../../packages/dev-stack/lib/services/register.mjs'
import { sendRequest } from './send-request.mjs'

/** @import { Answer } from './send-request.mjs' */
/** @import { Cluster } from '../start-cluster.mjs' */
/** @typedef {{ client_id: string, client_secret: string }} Credential */
/** @typedef {{ codes: string[], answers: Answer[][] }} Stream */
/** @typedef {{ code: string, token: string }} Pair a code with its token */

const ISSUED_AT_ONCE = 8
/** A client repeats a request for this long after a 503. */
const AGAIN_AFTER_MS = 300
/** The stream runs for this long before and after the stall. */
const MARGIN_MS = 500

/**
 * Waits for the response, and repeats the request at the next server after each 503.
 * @param {number} first
 * @param {(turn: number) => Promise<Answer>} send
 * @returns all responses
 */
export async function repeatAfterOutage(first, send) {
  /** @type {Answer[]} */
  const answers = []
  for (let turn = first; ; turn++) {
    const answer = await send(turn)
    answers.push(answer)
    if (answer.status !== 503) return answers
    await wait(AGAIN_AFTER_MS)
  }
}

/**
 * Uses each server in turn, as a load balancer does.
 * @param {Cluster} cluster
 * @param {number} turn
 */
export function serverAt({ authorizationServers }, turn) {
  const server = authorizationServers[turn % authorizationServers.length]
  if (server === undefined) throw new Error('the cluster has no authorization server')
  return server
}

/**
 * @param {Cluster} cluster
 * @param {{ client: Credential, code: string, turn?: number }} exchange
 */
export const exchangeAt = (cluster, { client, code, turn = 0 }) =>
  sendRequest(serverAt(cluster, turn).publicPort, 'POST', '/token', {
    by: client,
    form: exchangeForm(code, REDIRECT_URI)
  })

/**
 * @param {Cluster} cluster
 * @param {object} options
 * @param {Credential} options.client
 * @param {() => Promise<string>} options.nextCode
 * @param {number} options.perSecond
 * @param {number} options.seconds
 * @param {(cluster: Cluster) => Promise<() => void>} options.stall makes a store stall, and returns a function that resumes it
 * @returns {Promise<Stream>} the codes, and for each code all responses to its exchange
 */
export async function exchangeThroughStall(cluster, { client, nextCode, perSecond, seconds, stall }) {
  const count = Math.ceil(perSecond * (seconds + (2 * MARGIN_MS) / 1_000))
  const codes = await issueCodes(nextCode, count)
  const began = performance.now()
  const streaming = codes.map(async (code, index) => {
    await wait(Math.max(0, began + (index / perSecond) * 1_000 - performance.now()))
    return repeatAfterOutage(index, (turn) => exchangeAt(cluster, { client, code, turn }))
  })
  await wait(MARGIN_MS)
  const resume = await stall(cluster)
  await wait(seconds * 1_000).finally(resume)
  return { codes, answers: await Promise.all(streaming) }
}

/**
 * Counts the responses. The last response to each exchange must contain tokens.
 * @param {Stream} stream
 */
export function summarize({ codes, answers }) {
  const all = answers.flat()
  const last = answers.flatMap((each) => each.slice(-1))
  return {
    requests: all.length,
    outages: all.filter(({ status }) => status === 503).length,
    slowestMs: Math.max(...all.map(({ milliseconds }) => milliseconds)),
    refusals: last.filter(({ status }) => status !== 200).map(({ status, body }) => `${status} ${body}`),
    pairs: codes.flatMap((code, index) => {
      const { status, body = '' } = last[index] ?? {}
      /** @type {Pair[]} */
      const pairs = status === 200 ? [{ code, token: JSON.parse(body).access_token }] : []
      return pairs
    })
  }
}

/**
 * @param {() => Promise<string>} nextCode
 * @param {number} count
 */
async function issueCodes(nextCode, count) {
  /** @type {string[]} */
  const codes = []
  let left = count
  const issue = async () => {
    while (left-- > 0) codes.push(await nextCode())
  }
  await Promise.all(Array.from({ length: ISSUED_AT_ONCE }, issue))
  return codes
}

/**
 * @param {Cluster} cluster
 * @param {Credential} resourceServer
 * @param {string} token
 * @returns {Promise<boolean>} whether a token is active at the first server
 */
export async function isActive(cluster, resourceServer, token) {
  const { internalPort } = serverAt(cluster, 0)
  const { body } = await sendRequest(internalPort, 'POST', '/introspect', { by: resourceServer, form: { token } })
  return JSON.parse(body).active
}

/**
 * The number of replays that the servers have recorded.
 * @param {Pick<Cluster, 'query'>} cluster
 */
export async function countReplays({ query }) {
  const events = "('code_reused', 'refresh_token_reused')"
  /** @type {{ count: number }[]} */
  const [{ count } = { count: 0 }] = await query(
    `select count(*)::integer as count from audit_events where event in ${events}`
  )
  return count
}

/**
 * Exchanges used codes again, and waits until the replays are recorded.
 * @param {Cluster} cluster
 * @param {{ client: Credential, resourceServer: Credential, pairs: readonly Pair[] }} replays
 * @returns the codes that were not refused as used, or whose tokens did not end
 */
export async function replayAll(cluster, { client, resourceServer, pairs }) {
  const before = await countReplays(cluster)
  const wrong = []
  for (const { code, token } of pairs) {
    const { status, body } = await exchangeAt(cluster, { client, code })
    const isRefused = status === 400 && JSON.parse(body).error_description === 'authorization code was already used'
    if (!isRefused || (await isActive(cluster, resourceServer, token))) wrong.push(`${status} ${body}`)
  }
  while ((await countReplays(cluster)) < before + pairs.length - wrong.length) await wait(50)
  return wrong
}
