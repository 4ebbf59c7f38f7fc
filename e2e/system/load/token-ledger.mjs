// Records which tokens and endings got a response, and compares them later with what the service accepts.
import { setTimeout as wait } from 'node:timers/promises'
import { createApp } from '../../../packages/dev-stack/lib/client/app.mjs'

const AT_ONCE = 64
const LIMIT_MS = 15_000
/** The number of codes that are exchanged a second time. */
const REPLAYED = 10

/** @param world see start-world.d.mts @param resourceServer the credential for introspection */
export function createLedger({ fleet, app }, resourceServer) {
  const own = createApp({ ...app, issuer: fleet.issuer })
  /** One entry for each grant: its code, all access tokens, and the newest refresh token. */
  const grants = []
  const byRefreshToken = new Map()
  /** Grants with a token that was revoked, or that were ended as a whole. */
  const endings = []

  return {
    endings,
    /** Tokens that were answered, with the times of the responses. */
    answered: () => grants.flatMap(({ access }) => access),

    /** To be called with each response of the token endpoint. */
    note(form, tokens) {
      const at = Date.now()
      const grant = byRefreshToken.get(form.refresh_token) ?? { code: form.code, access: [] }
      if (grant.access.length === 0) grants.push(grant)
      grant.access.push({ token: tokens.access_token, at })
      grant.refresh = { token: tokens.refresh_token, at }
      byRefreshToken.set(tokens.refresh_token, grant)
    },

    /** @returns what does not hold, with the times of the responses; see token-ledger.d.mts */
    async compare() {
      const access = grants.flatMap((grant) => grant.access)
      const states = await introspectAll(access.map(({ token }) => token))
      const lostAccess = access.filter((_, index) => !states[index])
      // At once, while the codes of lost exchanges have not expired.
      const lostGrants = grants.filter((grant) => lostAccess.includes(grant.access[0]))
      const second = await replay(lostGrants.slice(-REPLAYED))
      const lostRefresh = []
      for (const grant of grants) {
        const { status } = await refresh(grant.refresh.token, app)
        if (status !== 200) lostRefresh.push({ ...grant.refresh, status })
      }
      const undone = await findUndone()
      second.push(...(await replay(grants.slice(-REPLAYED))))
      return { lostAccess, lostRefresh, undone, accepted: await acceptLost(lostAccess), second }
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

  /** @returns lost access tokens that the API accepts, or refuses with another status than 401 */
  async function acceptLost(lost) {
    const answers = []
    for (const { token } of lost.slice(0, AT_ONCE)) {
      const headers = { authorization: `Bearer ${token}` }
      const { status } = await ask(`${fleet.filesUrl}/v1/files?page_size=1`, { headers })
      if (status !== 401) answers.push(status)
    }
    return answers
  }

  /** Exchanges codes again, which ends their grants. @returns the statuses except 400 */
  async function replay(exchanged) {
    const statuses = []
    for (const { code } of exchanged) {
      const { status } = await repeat(own.exchange, code)
      if (status !== 400) statuses.push(status)
    }
    return statuses
  }

  function refresh(refreshToken, client) {
    const { clientId, clientSecret } = client
    return repeat(createApp({ ...app, issuer: fleet.issuer, clientId, clientSecret }).refresh, refreshToken)
  }

  /** @returns for each token whether it is active */
  async function introspectAll(tokens) {
    const { client_id: id, client_secret: secret } = resourceServer
    const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
    const active = []
    for (let from = 0; from < tokens.length; from += AT_ONCE) {
      const body = new URLSearchParams({ tokens: tokens.slice(from, from + AT_ONCE).join(' ') })
      const init = { method: 'POST', headers: { authorization }, body }
      const answer = await ask(`${fleet.internalUrl}/introspections`, init)
      if (answer.status !== 200) throw new Error(`introspection: ${answer.status} ${answer.text}`)
      active.push(...JSON.parse(answer.text).map((one) => one.active))
    }
    return active
  }
}

const ask = (url, init) =>
  repeat(async () => {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(LIMIT_MS) })
    return { status: response.status, text: await response.text() }
  })

/** Repeats a request that got 503. */
async function repeat(send, ...values) {
  const limit = Date.now() + LIMIT_MS
  for (;;) {
    const answer = await send(...values)
    if (answer.status !== 503 || Date.now() > limit) return answer
    await wait(100)
  }
}
