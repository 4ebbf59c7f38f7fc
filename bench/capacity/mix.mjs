// Sends several kinds of requests together, each at a constant rate, and reads the meters before and after.
import { setTimeout as wait } from 'node:timers/promises'
import { sendAll } from '../lib/send-all.mjs'
import { steadyLoad } from '../lib/steady-load.mjs'
import { since } from './meters.mjs'

/** Then work that follows a request, such as the erasure of the response of a refresh, happens as often as the request. */
const RAMP_MS = 6_000
const SENDERS = 16
/** Tokens that the API gets again and again, so that its cache has them. */
const TOKENS_IN_USE = 100

/**
 * The kinds of requests. `authorization`: a code and its exchange; `apiMiss`: a page of files with a token that is not in the
 * cache of the resource server; `apiHit`: with one that is.
 */
export const OPERATIONS = ['authorization', 'refresh', 'introspection', 'apiMiss', 'apiHit', 'revocation', 'signIn']

/**
 * @param rig see startRig
 * @returns `run(perSecond, seconds)`, which sends each kind at its rate and returns the differences of the meters, with
 *   `counts`, the requests of each kind meanwhile, and `sent`, all requests of the run; `warmUp(count)`
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
      // These tokens are of users without files.
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
    const sent = Object.fromEntries(Object.keys(perSecond).map((operation) => [operation, 0]))
    const loads = Object.entries(perSecond).map(([operation, rate]) =>
      steadyLoad((number) => {
        sent[operation]++
        return send[operation](number)
      }, rate)
    )
    await wait(RAMP_MS)
    const [before, sentBefore] = [await meters.read(), { ...sent }]
    await wait(seconds * 1_000)
    const [after, sentAfter] = [await meters.read(), { ...sent }]
    await Promise.all(loads.map((load) => load.stop()))
    return { ...since(before, after), counts: since(sentBefore, sentAfter), sent }
  }

  /** Sends each kind, so that V8 has compiled its code. */
  async function warmUp(count) {
    const all = (operation, times, senders = SENDERS) => sendAll(send[operation], { count: times, senders })
    await all('authorization', count)
    inUse.push(...fresh.splice(0, TOKENS_IN_USE))
    await all('refresh', count)
    // The rest is for runs in which misses are more frequent than authorizations.
    await all('apiMiss', count / 4)
    await all('apiHit', count)
    await all('introspection', count)
    await all('revocation', Math.ceil(count / 8), 2)
    await all('signIn', Math.ceil(count / 100), 2)
  }

  return { run, warmUp }
}

function takeFrom(tokens) {
  const token = tokens.shift()
  if (token === undefined) throw new Error('no token is left: the rates of the mix do not fit together')
  return token
}
