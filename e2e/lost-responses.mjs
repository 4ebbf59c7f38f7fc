// Sends exchanges and resets their connections after a few milliseconds, then repeats them at once, on two processes. Each
// repeated exchange must get working tokens, without a recorded replay; a replay after it must be detected. Not run by npm test.
// node e2e/lost-responses.mjs [--rounds 1000] [--parallel 20] [--store none|postgres|redis]
// `--store`: this store is stopped for 2 seconds in every 10 (SIGSTOP).
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { exchangeForm } from '../packages/dev-stack/lib/client/app.mjs'
import { REDIRECT_URI } from '../packages/dev-stack/lib/services/register.mjs'
import { countReplays, isActive } from './system/load/exchange-stream.mjs'
import { prepareApp } from './system/load/prepare-app.mjs'
import { sendRequest } from './system/load/send-request.mjs'
import { readOptions, runOnCluster } from './system/run-on-cluster.mjs'
import { pausePostgres, pauseRedis } from './system/stores/pause-stores.mjs'

const TIME_LIMIT_MINUTES = 60
const MOST_RESETS = 3
/** A client that got 503 repeats its request after this time, as `Retry-After` says. */
const RETRY_AFTER_MS = 2_000
const STALLS = { none: undefined, postgres: pausePostgres, redis: pauseRedis }

const { rounds, parallel, store } = readOptions(
  { rounds: [1_000, 1, 100_000], parallel: [20, 1, 200] },
  { store: Object.keys(STALLS) }
)
await runOnCluster({ minutes: TIME_LIMIT_MINUTES, settings: { CODE_TTL: '29' } }, run)

async function run(cluster) {
  const { resourceServer, addClient } = await prepareApp(cluster)
  const { client, nextCode } = await addClient()
  const counts = { rounds: 0, resets: 0, outages: 0, refused: [], dead: 0, undetected: [] }
  const stopStalls = stallNowAndThen(cluster)
  const began = performance.now()
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      while (counts.rounds < rounds) {
        counts.rounds += 1
        await playRound()
      }
    })
  )
  await stopStalls()
  const replays = await countReplays(cluster)
  const isRight = counts.refused.length + counts.dead + counts.undetected.length === 0 && replays === counts.rounds
  return [
    isRight ? 0 : 1,
    [
      `${counts.rounds} rounds in ${((performance.now() - began) / 1000).toFixed(0)} s, ${counts.resets} connections reset, ${counts.outages} responses with 503`,
      `repeated exchanges without tokens: ${counts.refused.length} ${counts.refused.slice(0, 3).join(' ')}`,
      `repeated exchanges with tokens that do not work: ${counts.dead}`,
      `replays afterwards: ${counts.rounds}, not detected: ${counts.undetected.length}; recorded in all: ${replays}`
    ]
  ]

  async function playRound() {
    const code = await untilResponse(() => nextCode())
    const form = exchangeForm(code, REDIRECT_URI)
    for (let left = Math.ceil(Math.random() * MOST_RESETS); left > 0; left -= 1) {
      await exchangeAndReset(anyPort(cluster), client, form)
      counts.resets += 1
    }
    const { status, body } = await exchangeUntilDecided(form)
    if (status !== 200) return counts.refused.push(`${status} ${body}`)
    const { access_token: token } = JSON.parse(body)
    if (!(await untilResponse(() => isActive(cluster, resourceServer, token)))) counts.dead += 1
    const replay = await exchangeUntilDecided(form)
    const isRefused = JSON.parse(replay.body).error_description === 'authorization code was already used'
    if (!isRefused || (await untilResponse(() => isActive(cluster, resourceServer, token))))
      counts.undetected.push(`${replay.status} ${replay.body}`)
  }

  async function exchangeUntilDecided(form) {
    for (;;) {
      const answer = await sendRequest(anyPort(cluster), 'POST', '/token', { by: client, form })
      if (answer.status !== 503) return answer
      counts.outages += 1
      await sleep(RETRY_AFTER_MS)
    }
  }
}

function anyPort({ authorizationServers }) {
  return authorizationServers[Math.floor(Math.random() * authorizationServers.length)].publicPort
}

/** A stopped store makes other requests of a round fail. */
async function untilResponse(work) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (tries === 5) throw error
      await sleep(RETRY_AFTER_MS)
    }
  }
}

/** Resolves when the connection is gone, at most 6 ms after the request was sent. */
function exchangeAndReset(port, { client_id: id, client_secret: secret }, form) {
  const body = new URLSearchParams(form).toString()
  const head = [
    'POST /token HTTP/1.1',
    'Host: localhost',
    `Authorization: Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${body.length}`
  ]
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
      setTimeout(() => socket.resetAndDestroy(), 1 + Math.random() * 5)
    })
    socket.on('error', () => {})
    socket.on('close', resolve)
  })
}

/** @returns a function that ends this and resumes the store */
function stallNowAndThen(cluster) {
  const pause = STALLS[store]
  if (pause === undefined) return async () => {}
  let isOver = false
  const stalling = (async () => {
    while (!isOver) {
      const resume = await pause(cluster)
      await sleep(2_000)
      resume()
      await sleep(8_000)
    }
  })()
  return () => {
    isOver = true
    return stalling
  }
}
