// Ends access while codes and tokens are issued, on two processes, and checks that none of them works afterwards.
// Not run by npm test. node e2e/endings-race.mjs [--rounds 1000]
import { setTimeout as wait } from 'node:timers/promises'
import { exchangeForm, refreshForm } from '../packages/dev-stack/lib/client/app.mjs'
import { simulateUser } from '../packages/dev-stack/lib/client/user.mjs'
import { REDIRECT_URI } from '../packages/dev-stack/lib/services/register.mjs'
import { prepareApp } from './system/load/prepare-app.mjs'
import { sendRequest } from './system/load/send-request.mjs'
import { readOptions, runOnCluster } from './system/run-on-cluster.mjs'

const TIME_LIMIT_MINUTES = 60
/** Numbers of concurrent loops of authorize and exchange, and of refreshes, while the access is ended. */
const CODE_LOOPS = 4
const REFRESH_LOOPS = 2
const MOST_REPEATS = 5
/** The access is ended at a random time within these milliseconds. */
const LATEST_START_MS = 25

const { rounds, ending } = readOptions(
  { rounds: [1_000, 1, 100_000] },
  {
    ending: [
      'all',
      'account-page',
      'user-and-client',
      'user',
      'client',
      'user-disabled',
      'new-password',
      'client-disabled'
    ]
  }
)
// One grant is refreshed far more often than the limits for one grant allow.
await runOnCluster({ minutes: TIME_LIMIT_MINUTES, settings: { LIMITS_FACTOR: '1000' } }, raceAll)

async function raceAll(cluster) {
  const app = await register(cluster)
  const administer = (method, path, json) =>
    sendRequest(cluster.authorizationServers[1].operatorPort, method, `/admin${path}`, { ...app.operator, json })
  const revoke = (body) => administer('POST', '/grants/revoke', body)
  const [user, client] = [`/users/${app.userId}`, `/clients/${app.clientId}`]
  const endings = {
    'account-page': { end: () => app.endOnAccountPage() },
    'user-and-client': { end: () => revoke({ user_id: app.userId, client_id: app.clientId }) },
    user: { end: () => revoke({ user_id: app.userId }) },
    client: { end: () => revoke({ client_id: app.clientId }) },
    'user-disabled': {
      end: () => administer('POST', `${user}/disable`),
      restore: () => administer('POST', `${user}/enable`)
    },
    'new-password': { end: () => administer('PUT', `${user}/password`, { password: app.password }) },
    'client-disabled': {
      end: () => administer('POST', `${client}/disable`),
      restore: () => administer('POST', `${client}/enable`)
    }
  }
  let survivors = 0
  for (const [name, { end, restore }] of Object.entries(endings)) {
    if (ending !== 'all' && ending !== name) continue
    const seen = { pairs: 0, access: 0, refresh: 0 }
    for (let round = 0; round < rounds; round += 1) await raceOnce(app, { end, restore }, seen)
    survivors += seen.access + seen.refresh
    console.log(
      `${name}: ${rounds} rounds, ${seen.pairs} pairs opened; survivors: ${seen.access} access, ${seen.refresh} refresh tokens`
    )
  }
  return [survivors === 0 ? 0 : 1, [`survivors in all: ${survivors}`]]
}

/** @param ending.restore enables what was disabled, because every token of a disabled user or client is refused */
async function raceOnce(app, { end, restore }, seen) {
  const first = await app.allow()
  const opened = [first]
  let hasEnded = false
  const loops = [
    ...Array.from({ length: CODE_LOOPS }, (_, index) => openByCode(app, index % 2, opened, () => hasEnded)),
    ...Array.from({ length: REFRESH_LOOPS }, (_, index) =>
      keepRefreshing(app, index % 2, first, opened, () => hasEnded)
    )
  ]
  await wait(Math.random() * LATEST_START_MS)
  let answer = await end()
  // A busy machine may need longer than the time limit of a statement. The operator or the user repeats the request then.
  for (let again = 0; answer.status === 503 && again < MOST_REPEATS; again += 1) answer = await end()
  hasEnded = true
  await Promise.all(loops)
  if (answer.status >= 400) throw new Error(`the ending got the response ${answer.status}: ${answer.body}`)
  await restore?.()
  const alive = await app.countAlive(opened)
  seen.pairs += opened.length
  seen.access += alive.access
  seen.refresh += alive.refresh
}

/** Repeats authorize and exchange with the remembered consent until the user is asked, and once more after the end. */
async function openByCode(app, instance, opened, hasEnded) {
  for (let last = false; !last; ) {
    last = hasEnded()
    const code = await app.authorize(instance)
    const pair = code && (await app.token(instance, exchangeForm(code, REDIRECT_URI)))
    if (pair) opened.push(pair)
    if (!code) return
  }
}

async function keepRefreshing(app, instance, first, opened, hasEnded) {
  let pair = first
  for (let last = false; !last && pair !== undefined; ) {
    last = hasEnded()
    pair = await app.token(instance, refreshForm(pair.refresh_token))
    if (pair !== undefined) opened.push(pair)
  }
}

/** A signed-in user, a client that remembers consent, and their requests. */
async function register(cluster) {
  const { issuer, authorizationServers: instances, valetkey } = cluster
  const { userId, account, resourceServer, addClient } = await prepareApp(cluster)
  const { client, start } = await addClient()
  const { operator_key: key } = await valetkey(['operator-keys', 'create', '--name', 'race', '--json'])
  const user = simulateUser(issuer, account)
  await user.open(start)

  async function token(instance, form) {
    const answer = await sendRequest(instances[instance].publicPort, 'POST', '/token', { by: client, form })
    if (answer.status === 200) return JSON.parse(answer.body)
    // 401: the client is disabled.
    if (answer.status !== 400 && answer.status !== 401) {
      throw new Error(`/token responded with ${answer.status}: ${answer.body}`)
    }
    return undefined
  }

  return {
    userId,
    password: account.password,
    clientId: client.client_id,
    operator: { headers: { authorization: `Bearer ${key}` } },
    token,

    /** The user allows the client on the page. @returns the first pair of tokens */
    allow: async () => token(0, exchangeForm(await user.code(start), REDIRECT_URI)),

    /** @returns a code; undefined if the user is asked */
    async authorize(instance) {
      const { headers } = await sendRequest(instances[instance].publicPort, 'GET', start.slice(issuer.length), {
        headers: { cookie: user.browser.cookie() }
      })
      return new URL(headers.location ?? '/', issuer).searchParams.get('code') ?? undefined
    },

    async endOnAccountPage() {
      const page = await user.open(`${issuer}/account/apps/end?client_id=${client.client_id}`)
      const { status, html } = await user.browser.submit(page, {})
      return { status, body: html.slice(0, 300) }
    },

    async countAlive(opened) {
      const alive = { access: 0, refresh: 0 }
      const tokens = [...new Set(opened.map((pair) => pair.access_token))]
      for (let from = 0; from < tokens.length; from += 64) {
        const form = { tokens: tokens.slice(from, from + 64).join(' ') }
        const by = resourceServer
        const { body } = await sendRequest(instances[1].internalPort, 'POST', '/introspections', { by, form })
        alive.access += JSON.parse(body).filter(({ active }) => active).length
      }
      for (const refreshToken of new Set(opened.map((pair) => pair.refresh_token))) {
        if (await token(1, refreshForm(refreshToken))) alive.refresh += 1
      }
      return alive
    }
  }
}
