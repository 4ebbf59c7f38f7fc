// Records which tokens and endings got a response, and compares them later with what the service accepts.
import { setTimeout as wait } from 'node:timers/promises'
import { createApp } from '../../../packages/dev-stack/lib/client/app.mjs'

/** @import { World } from '../start-world.mjs' */
/** @import { Ending } from './endings.mjs' */
/** @import { Tokens } from './flows.mjs' */
/** @typedef {{ token: string, at: number }} Answered a token, and when the response with it arrived */
/** @typedef {{ code: string | undefined, access: Answered[], refresh: Answered }} Grant */
/** @typedef {{ clientId: string, clientSecret: string }} Client */
/** @typedef {{ status: number, text: string }} Answer */

const AT_ONCE = 64
const LIMIT_MS = 15_000
/** The number of codes that are exchanged a second time. */
const REPLAYED = 10

/**
 * @param {Pick<World, 'fleet' | 'app'>} world
 * @param {{ client_id: string, client_secret: string }} resourceServer the credential for introspection
 */
export function createLedger({ fleet, app }, resourceServer) {
  const own = createApp({ ...app, issuer: fleet.issuer })
  /**
   * One entry for each grant: its code, all access tokens, and the newest refresh token.
   * @type {Grant[]}
   */
  const grants = []
  /** @type {Map<string | undefined, Grant>} */
  const byRefreshToken = new Map()
  /**
   * Grants with a token that was revoked, or that were ended as a whole.
   * @type {Ending[]}
   */
  const endings = []

  return {
    endings,
    /** Tokens that were answered, with the times of the responses. */
    answered: () => grants.flatMap(({ access }) => access),

    /**
     * Callers call this with each response of the token endpoint.
     * @param {Record<string, string>} form
     * @param {Tokens} tokens
     */
    note(form, tokens) {
      const at = Date.now()
      const refresh = { token: tokens.refresh_token, at }
      /** @type {Grant} */
      const grant = byRefreshToken.get(form.refresh_token) ?? { code: form.code, access: [], refresh }
      if (grant.access.length === 0) grants.push(grant)
      grant.access.push({ token: tokens.access_token, at })
      grant.refresh = refresh
      byRefreshToken.set(tokens.refresh_token, grant)
    },

    /** @returns what does not hold, with the times of the responses */
    async compare() {
      const access = grants.flatMap((grant) => grant.access)
      const states = await introspectAll(access.map(({ token }) => token))
      const lostAccess = access.filter((_, index) => !states[index])
      // The grants are read at once, while the codes of lost exchanges have not expired.
      const lostGrants = grants.filter(({ access: [first] }) => first !== undefined && lostAccess.includes(first))
      const again = await replay(lostGrants.slice(-REPLAYED))
      const lostRefresh = []
      for (const grant of grants) {
        const { status } = await refresh(grant.refresh.token, app)
        if (status !== 200) lostRefresh.push({ ...grant.refresh, status })
      }
      const undone = await findUndone()
      const second = await replay(grants.slice(-REPLAYED))
      return {
        /** Access tokens of responses that are not active. */
        lostAccess,
        /** Newest refresh tokens of responses that are refused. */
        lostRefresh,
        /** Answered endings after which a token is accepted. */
        undone,
        /** Statuses of the API to lost access tokens, except 401. */
        accepted: await acceptLost(lostAccess),
        /** The same of exchanges whose grant Postgres has lost, a moment after the first. */
        again,
        /** Statuses of second exchanges, except 400. */
        second
      }
    }
  }

  /** Endings after which a token is still accepted. */
  async function findUndone() {
    const states = await introspectAll(endings.map(({ accessToken }) => accessToken))
    const undone = endings.filter((_, index) => states[index])
    for (const ending of endings.filter((one) => one.endsGrant && !undone.includes(one))) {
      if ((await refresh(ending.refreshToken, ending.client)).status === 200) undone.push(ending)
    }
    return undone
  }

  /**
   * @param {readonly Answered[]} lost
   * @returns lost access tokens that the API accepts, or refuses with another status than 401
   */
  async function acceptLost(lost) {
    const answers = []
    for (const { token } of lost.slice(0, AT_ONCE)) {
      const headers = { authorization: `Bearer ${token}` }
      const { status } = await ask(`${fleet.filesUrl}/v1/files?page_size=1`, { headers })
      if (status !== 401) answers.push(status)
    }
    return answers
  }

  /**
   * Exchanges codes again, which ends their grants.
   * @param {readonly Grant[]} exchanged
   * @returns the statuses except 400
   */
  async function replay(exchanged) {
    const statuses = []
    for (const { code = '' } of exchanged) {
      const { status } = await repeat(own.exchange, code)
      if (status !== 400) statuses.push(status)
    }
    return statuses
  }

  /**
   * @param {string} refreshToken
   * @param {Client} client
   */
  function refresh(refreshToken, client) {
    const { clientId, clientSecret } = client
    return repeat(createApp({ ...app, issuer: fleet.issuer, clientId, clientSecret }).refresh, refreshToken)
  }

  /**
   * @param {readonly string[]} tokens
   * @returns for each token whether it is active
   */
  async function introspectAll(tokens) {
    const { client_id: id, client_secret: secret } = resourceServer
    const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
    const active = []
    for (let from = 0; from < tokens.length; from += AT_ONCE) {
      const body = new URLSearchParams({ tokens: tokens.slice(from, from + AT_ONCE).join(' ') })
      const init = { method: 'POST', headers: { authorization }, body }
      const answer = await ask(`${fleet.internalUrl}/introspections`, init)
      if (answer.status !== 200) throw new Error(`introspection: ${answer.status} ${answer.text}`)
      /** @type {{ active: boolean }[]} */
      const states = JSON.parse(answer.text)
      active.push(...states.map((one) => one.active))
    }
    return active
  }
}

/**
 * @param {string} url
 * @param {RequestInit} init
 */
const ask = (url, init) =>
  repeat(async () => {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(LIMIT_MS) })
    return { status: response.status, text: await response.text() }
  })

/**
 * Repeats a request that got 503.
 * @template {unknown[]} Values
 * @param {(...values: Values) => Promise<Answer>} send
 * @param {Values} values
 */
async function repeat(send, ...values) {
  const limit = Date.now() + LIMIT_MS
  for (;;) {
    const answer = await send(...values)
    if (answer.status !== 503 || Date.now() > limit) return answer
    await wait(100)
  }
}
