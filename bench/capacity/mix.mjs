// Sends several kinds of requests together, each at a constant rate, and reads the meters before and after.
import { setTimeout as wait } from 'node:timers/promises'
import { sendAll } from '../lib/send-all.mjs'
import { steadyLoad } from '../lib/steady-load.mjs'
import { since } from './meters.mjs'

/** Included background work after the last request, such as the batch of audit events every 250 ms. */
const REST_MS = 300
const SENDERS = 16
/** Multiplies all rates; below 1 for a machine that is too slow for them. Results then do not count. */
export const LOAD = Number(process.env.BENCH_LOAD ?? 1)
/** Tokens that the API gets again and again, so that its cache has them. */
const TOKENS_IN_USE = 100

/**
 * The kinds of requests. `authorization`: a code and its exchange; `apiMiss`: a page of files with a token that is not in the
 * cache of the resource server; `apiHit`: with one that is.
 */
export const OPERATIONS = ['authorization', 'refresh', 'introspection', 'apiMiss', 'apiHit', 'revocation', 'signIn']

/**
 * @param rig see startRig
 * @returns `send`: a function for each of OPERATIONS; `run(perSecond, seconds)`, which sends each kind at its rate and returns
 *   the differences of the meters, with `counts`, the number of requests of each kind; `warmUp(count)`
 */
export async function createMix({ requests, meters, refreshTokens }) {
  const fresh = []
  const spent = []
  const refreshable = [...refreshTokens]
  const inUse = []
  let authorized = 0

  const send = {
    async authorization() {
      fresh.push((await requests.exchange(await requests.code(authorized++))).accessToken)
    },
    async refresh() {
      const { accessToken, refreshToken } = await requests.refresh(takeFrom(refreshable))
      refreshable.push(refreshToken)
      // Of users without files.
      spent.push(accessToken)
    },
    introspection: (number) => requests.introspection(inUse[number % inUse.length]),
    async apiMiss() {
      const accessToken = takeFrom(fresh)
      await requests.files(accessToken)
      spent.push(accessToken)
    },
    apiHit: (number) => requests.files(inUse[number % inUse.length]),
    revocation: () => requests.revocation(takeFrom(spent)),
    signIn: requests.signIn
  }

  async function run(perSecond, seconds) {
    const counts = {}
    const before = await meters.read()
    const loads = Object.entries(perSecond).map(([operation, rate]) => {
      counts[operation] = 0
      return steadyLoad((number) => {
        counts[operation]++
        return send[operation](number)
      }, rate * LOAD)
    })
    await wait(seconds * 1_000)
    await Promise.all(loads.map((load) => load.stop()))
    await wait(REST_MS)
    return { ...since(before, await meters.read()), counts }
  }

  /** Sends each kind, so that V8 has compiled its code. @returns how many users signed in */
  async function warmUp(count) {
    const signIns = Math.ceil(count / 100)
    const all = (operation, times, senders = SENDERS) => sendAll(send[operation], { count: times, senders })
    await all('authorization', count)
    inUse.push(...fresh.splice(0, TOKENS_IN_USE))
    await all('refresh', count)
    // The rest is for runs in which misses are more frequent than authorizations.
    await all('apiMiss', count / 2)
    await all('apiHit', count)
    await all('introspection', count)
    await all('revocation', Math.ceil(count / 8), 2)
    await all('signIn', signIns, 2)
    return signIns
  }

  return { send, run, warmUp }
}

function takeFrom(tokens) {
  const token = tokens.shift()
  if (token === undefined) throw new Error('no token is left: the rates of the mix do not fit together')
  return token
}
