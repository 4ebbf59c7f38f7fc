// Load of users and apps: a code with remembered consent, its exchange, files, a refresh. Records the result of each request.
import { setTimeout as wait } from 'node:timers/promises'
import { createApp, exchangeForm, refreshForm } from '../../../packages/dev-stack/lib/client/app.mjs'
import { simulateUser } from '../../../packages/dev-stack/lib/client/user.mjs'
import { causeOf, codeOf, messageOf } from '../../../packages/dev-stack/lib/error-code.mjs'

/** @import { HttpBrowser } from '../../../packages/dev-stack/lib/client/http-browser.mjs' */
/** @typedef {{ issuer: string, filesUrl?: string | undefined, clientId: string, clientSecret: string, redirectUri: string,
 *   scope: string, username: string, password: string,
 *   onTokens?: (form: Record<string, string>, tokens: Tokens) => void, repeatsExchanges?: boolean }} FlowApp
 *   `onTokens` is called with the form and the tokens of each successful token request; `repeatsExchanges`: exchanges with
 *   503 are repeated */
/** @typedef {{ access_token: string, refresh_token: string }} Tokens */
/** @typedef {{ at: number, what: string, status: number, said?: string | undefined }} Seen */
/** @typedef {{ browser: HttpBrowser, since: number }} Session */
/** @typedef {ReturnType<typeof createFlows>} Flows */
/** @typedef {{ status: number, said?: string, code?: string | undefined, tokens?: Tokens, pageToken?: string }} Result */
/** @typedef {() => boolean} IsRunning */

/** @param {FlowApp} app */
export function createFlows(app) {
  /** @type {Seen[]} */
  const seen = []
  const client = createApp(app)
  const start = client.authorizeUrl()
  const account = { username: app.username, password: app.password }

  /**
   * @param {string} what
   * @param {() => Promise<Result>} ask
   * @returns {Promise<Omit<Result, 'said'>>}
   */
  async function noted(what, ask) {
    const at = Date.now()
    try {
      const { status, said, ...rest } = await ask()
      seen.push({ at, what, status, said })
      return { status, ...rest }
    } catch (error) {
      const cause = causeOf(error)
      seen.push({ at, what, status: 0, said: codeOf(cause) || messageOf(cause) })
      return { status: 0 }
    }
  }

  /** Signs in and allows the app once; later requests use this session and consent. */
  async function signIn() {
    const user = simulateUser(app.issuer, account)
    await user.code(start)
    return { browser: user.browser, since: Date.now() }
  }

  /** @param {Session} session */
  const authorize = (session) =>
    noted('authorize', async () => {
      const { url, status, html } = await session.browser.open(start)
      const code = url.searchParams.get('code') ?? undefined
      if (code !== undefined) return { status: 200, code }
      if (status === 200 && /type="password"/.test(html)) return { status: 401, said: 'has to sign in again' }
      return { status: status === 200 ? 500 : status, said: `${url.href.slice(0, 200)} ${status}` }
    })

  /**
   * @param {string} what
   * @param {Record<string, string>} form
   */
  const token = (what, form) =>
    noted(what, async () => {
      const { status, text } = await client.post('/token', form)
      if (status !== 200) return { status, said: text.slice(0, 200) }
      const tokens = JSON.parse(text)
      app.onTokens?.(form, tokens)
      return { status: 200, tokens }
    })

  /**
   * @param {string} accessToken
   * @param {string} [pageToken]
   */
  const page = (accessToken, pageToken) =>
    noted('files', async () => {
      const headers = { authorization: `Bearer ${accessToken}` }
      const query = new URLSearchParams({ page_size: '1', ...(pageToken && { page_token: pageToken }) })
      const response = await fetch(`${app.filesUrl}/v1/files?${query}`, {
        headers,
        signal: AbortSignal.timeout(15_000)
      })
      const text = await response.text()
      if (response.status !== 200) return { status: response.status, said: text.slice(0, 200) }
      return { status: 200, pageToken: JSON.parse(text).next_page_token }
    })

  /**
   * Reads two pages, so that an instance gets a page token of another instance.
   * @param {string} accessToken
   * @param {IsRunning} isRunning
   */
  async function files(accessToken, isRunning) {
    const first = await again(() => page(accessToken), isRunning)
    if (first.pageToken !== undefined) await again(() => page(accessToken, first.pageToken), isRunning)
  }

  /** Signs in with a form of one instance that may be sent to another. */
  const newcomer = () =>
    noted('sign in', async () => {
      const { browser } = simulateUser(app.issuer, account)
      const form = await browser.open(start)
      if (form.status !== 200) return { status: form.status, said: `the form: ${form.status}` }
      const { url, status } = await browser.submit(form, account)
      const done = url.searchParams.get('code') !== null
      await signOut(browser)
      return done ? { status: 200 } : { status: status === 200 ? 500 : status, said: `${url.pathname} ${status}` }
    })

  /**
   * Users have 100 sessions at most, so that without this the sessions of the other loops would end.
   * @param {HttpBrowser} browser
   */
  async function signOut(browser) {
    const page = await browser.open(`${app.issuer}/account/apps`)
    const form = page.html.lastIndexOf('<form', page.html.indexOf(`action="${app.issuer}/logout"`))
    if (form >= 0) await browser.submit({ ...page, html: page.html.slice(form) }, {})
  }

  /**
   * Repeats requests that got 503, as apps do.
   * @param {() => Promise<Omit<Result, 'said'>>} ask
   * @param {IsRunning} isRunning
   */
  async function again(ask, isRunning) {
    for (;;) {
      const answer = await ask()
      if (answer.status !== 503 || !isRunning()) return answer
      await wait(200)
    }
  }

  /**
   * @param {Session} session
   * @param {IsRunning} isRunning
   */
  async function round(session, isRunning) {
    const { code } = await again(() => authorize(session), isRunning)
    if (code === undefined) return
    const exchange = () => token('exchange', exchangeForm(code, app.redirectUri))
    let { tokens } = await (app.repeatsExchanges ? again(exchange, isRunning) : exchange())
    for (let turn = 0; turn < 3 && tokens !== undefined && isRunning(); turn++) {
      if (app.filesUrl !== undefined) await files(tokens.access_token, isRunning)
      const form = refreshForm(tokens.refresh_token)
      const answer = await again(() => token('refresh', form), isRunning)
      tokens = answer.tokens
    }
  }

  return {
    seen,
    signIn,
    /**
     * Every session repeats its round until `stop`.
     * @param {readonly Session[]} sessions
     * @param {{ pauseMs?: number, newcomersEveryMs?: number }} [options]
     */
    run(sessions, { pauseMs = 20, newcomersEveryMs = 0 } = {}) {
      let running = true
      const loops = sessions.map(async (session) => {
        while (running) {
          await round(session, () => running)
          await wait(pauseMs)
        }
      })
      async function comeAnew() {
        while (running) {
          await newcomer()
          await wait(newcomersEveryMs)
        }
      }
      if (newcomersEveryMs > 0) loops.push(comeAnew())
      return {
        async stop() {
          running = false
          await Promise.all(loops)
        }
      }
    },
    /**
     * The secret with which apps authenticate from now on.
     * @param {string} clientSecret
     */
    useSecret(clientSecret) {
      app.clientSecret = clientSecret
    }
  }
}

const WELL_LIMIT_MS = 120_000

/**
 * Waits until this number of consecutive requests, including an authorization request, succeeded.
 * @param {readonly Seen[]} seen
 * @param {{ from?: number, requests?: number }} [options] requests before `from` do not count
 * @throws after two minutes
 */
export async function untilWell(seen, { from = 0, requests = 20 } = {}) {
  const deadline = Date.now() + WELL_LIMIT_MS
  for (;;) {
    const since = seen.filter(({ at }) => at >= from)
    const inARow = since.slice(since.findLastIndex(({ status }) => status !== 200) + 1)
    if (inARow.length >= requests && inARow.some(({ what }) => what === 'authorize')) return
    if (Date.now() > deadline) {
      throw new Error(`no ${requests} good answers in a row; the last: ${JSON.stringify(since.slice(-5))}`)
    }
    await wait(20)
  }
}

/**
 * Counts the requests between two times by result; `failed` is every result except success and 503.
 * @param {readonly Seen[]} seen
 * @param {number} [from]
 * @param {number} [to]
 */
export function evaluateFlows(seen, from = 0, to = Number.POSITIVE_INFINITY) {
  const within = seen.filter(({ at }) => at >= from && at < to)
  const unavailable = within.filter(({ status }) => status === 503)
  const failed = within.filter(({ status }) => status !== 200 && status !== 503)
  const times = unavailable.map(({ at }) => at)
  return {
    requests: within.length,
    unavailable: unavailable.length,
    /** Milliseconds from the first to the last 503. */
    awayFor: times.length === 0 ? 0 : Math.max(...times) - Math.min(...times),
    failed,
    unavailableAt: times
  }
}
