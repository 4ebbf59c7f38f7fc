// An installation with filled tables and signed-in users, and its requests.
import path from 'node:path'
import { simulateUser } from '../../packages/dev-stack/lib/client/user.mjs'
import { operationsOf } from '../lib/operations.mjs'
import { sendAll } from '../lib/send-all.mjs'
import { signInAndAllow } from '../lib/signed-in.mjs'
import { createStores } from '../lib/stores.mjs'
import { startValetkey } from '../lib/valetkey.mjs'
import { fillRows, PASSWORD, shareFiles, usernameOf } from './fill.mjs'
import { createMeters } from './meters.mjs'

/** Lifetime of cached introspection responses, in seconds. */
const CACHE_SECONDS = 60
const ACCESS_TOKEN_TTL = 3_600
/** Sign-ins at once while the installation is prepared. */
const SIGNING_IN = 4

/**
 * @param workplace see inWorkplace
 * @param size `rows`: see fillRows; `people`: users with a session
 */
export async function startRig({ directory, processes, afterwards }, { rows, people }) {
  const stores = await createStores(['authorization', 'files'], { directory, processes, environment: process.env })
  afterwards(stores.drop)
  let refreshTokens
  const target = await startValetkey({
    databaseUrls: stores.databaseUrls,
    redisUrl: stores.redisUrl,
    processes,
    refreshes: true,
    directory: path.join(directory, 'services'),
    environment: {
      CODE_TTL: '29',
      ACCESS_TOKEN_TTL: String(ACCESS_TOKEN_TTL),
      INTROSPECTION_CACHE_TTL: String(CACHE_SECONDS),
      // The erasure of a response is part of the cost of its refresh, so it must happen soon.
      REFRESH_RETRY_WINDOW: '1',
      // Each sample token is refreshed more often than an app does.
      LIMITS_FACTOR: '1000'
    },
    async beforeStart({ client, audience }) {
      const filling = { rows, clientId: client.id, audience, lifetime: ACCESS_TOKEN_TTL }
      refreshTokens = await fillRows(stores.databaseUrls[0], filling)
    }
  })
  const meters = await createMeters(stores, target.pids)
  afterwards(meters.close)
  await shareFiles(stores.databaseUrls[1], people)
  const sessions = []
  const signIn = async (number) => {
    sessions[number] = await signInAndAllow(target.codeUrl, { username: usernameOf(number + 1), password: PASSWORD })
  }
  await sendAll(signIn, { count: people, senders: SIGNING_IN })
  return { stores, meters, refreshTokens, requests: requestsOf(target, sessions) }
}

/** @returns the requests of each kind; `close` */
function requestsOf(target, sessions) {
  const { authorizationOf, authorizeBy, exchangeForBoth, ...operations } = operationsOf(target)
  const authorizations = sessions.map((session) => authorizationOf(session))
  return {
    code: (number) => authorizeBy(authorizations[number % authorizations.length]),
    exchange: exchangeForBoth,
    refresh: operations.refresh,
    introspection: operations.introspect,
    files: operations.files,
    revocation: operations.revoke,
    /** A user who allowed the client before signs in with a password and gets a code. */
    async signIn(number) {
      const username = usernameOf(1 + (number % sessions.length))
      await simulateUser(target.codeUrl, { username, password: PASSWORD }).code(target.codeUrl)
    },
    close: operations.close
  }
}
