// The app and the API of a cell: exchanges, refreshes and introspections.
import { randomBytes } from 'node:crypto'
import { exchangeForm, refreshForm } from '../../packages/dev-stack/lib/client/app.mjs'
import { newOpaqueToken } from '../../packages/oauth-protocol/dist/index.js'
import { basic, send } from './http.mjs'
import { BINDING } from './model-state.mjs'

/** @import { Answer } from './http.mjs' */
/** @import { Moment } from './history.mjs' */
/** @import { Code, How, Place, Tokens } from './cell.mjs' */
/** @typedef {{ access_token: string, refresh_token: string }} Response */
/** @typedef {{ kind: 'tokens', response: Response } | { kind: 'refused' | 'nothing' | 'unknown' }} Outcome */

/** The server notes the end of a connection for one second after its response; with a part of it, a busy machine changes nothing. */
const NOTICED_WITHIN_MS = 500
const MOST_PROBES = 200

/** @param {Place} place */
export function createTokens({ world, client, history, tokens }) {
  /** @param {Record<string, string>} form @param {How} how */
  async function ask(form, { server, cutAfterMs }) {
    const options = { headers: basic(client), form, cutAfterMs }
    return outcomeOf(await send(world.portsOf(server).publicPort, 'POST', '/token', options))
  }

  /** @param {Response} response */
  function add({ access_token: access, refresh_token: refresh }) {
    const accessName = history.nameOf('a', access)
    const refreshName = history.nameOf('r', refresh)
    if (!tokens.some((known) => known.access === access && known.refresh === refresh))
      tokens.push({ access, refresh, accessName, refreshName, isRotated: false, isActive: true })
    return { access: accessName, refresh: refreshName }
  }

  /**
   * Waits until the server has given a code back whose exchange got no response: it then can be exchanged again. The server must do
   * so, unless it stops or a store fails. It is asked other questions meanwhile, so the speed of the machine does not matter.
   * @param {Code} code
   * @param {How} how
   * @param {Moment} start
   * @returns {Promise<'given_back' | 'held' | 'not_judged'>}
   */
  async function watchReturn(code, { server }, start) {
    const calm = world.calm()
    const others = code.begun
    for (let probe = 1; probe <= MOST_PROBES; probe++) {
      const unknown = newOpaqueToken('authorizationCode', randomBytes)
      const { kind } = await ask(exchangeForm(unknown, BINDING.redirectUri), { server })
      const isLate = probe === 1 && performance.now() - start.at > NOTICED_WITHIN_MS
      if (kind !== 'refused' || isLate || world.calm() !== calm || calm === undefined) return 'not_judged'
      const record = await world.tellRedis(`GET ${code.key}`)
      if (code.begun !== others || code.open !== 1) return 'not_judged'
      if (/\nissued /.test(record)) return 'given_back'
      if (!/\ntaken /.test(record)) return 'not_judged'
    }
    return 'held'
  }

  /** @param {Code} code @param {How} how @param {Moment} start @param {string} redirectUri */
  async function noteUnknownExchange(code, how, start, redirectUri) {
    const exchange = /** @type {const} */ ({ kind: 'exchange', code: code.name, redirectUri, outcome: 'unknown' })
    const id = history.newId()
    const mayBeJudged = code.open === 1 && !code.isUsed && !code.isLeft && redirectUri === BINDING.redirectUri
    const verdict = mayBeJudged ? await watchReturn(code, how, start) : 'not_judged'
    const returned = { code: code.name, exchange: id }
    if (verdict === 'given_back') {
      const end = world.now()
      history.noteUnknown(start, exchange, { id, end })
      history.noteUnknown(start, { kind: 'give_back', ...returned }, { end })
      history.note(world.now(), { kind: 'given_back', ...returned })
      return
    }
    code.isLeft = true
    history.noteUnknown(start, exchange, { id })
    history.noteUnknown(start, { kind: 'give_back', ...returned })
    if (verdict === 'held') history.note(world.now(), { kind: 'not_given_back', code: code.name })
  }

  /** @param {Tokens} token @param {How} how */
  async function introspect(token, { server }) {
    const mark = world.feeds[server]?.mark()
    const start = world.now()
    const options = { headers: basic(world.resourceServer), form: { token: token.access } }
    const answer = await send(world.portsOf(server).internalPort, 'POST', '/introspect', options)
    if (answer.kind !== 'answer' || answer.status !== 200) return undefined
    const { active, ...members } = JSON.parse(answer.body)
    history.note(start, { kind: 'introspect', token: token.accessName, active })
    token.isActive = active
    if (active) token.grantId = members.grant_id
    const names = NAMES.map((name) => `${name}:${members[name]}`)
    return active && mark && { server, mark, names }
  }

  return {
    introspect,

    /** @param {Code} code @param {How} how @param {string} [redirectUri] */
    async exchange(code, how, redirectUri = BINDING.redirectUri) {
      code.begun += 1
      code.open += 1
      const start = world.now()
      const outcome = await ask(exchangeForm(code.value, redirectUri), how)
      const exchange = /** @type {const} */ ({ kind: 'exchange', code: code.name, redirectUri })
      if (outcome.kind === 'tokens') {
        code.isUsed = true
        history.note(start, { ...exchange, outcome: 'tokens', tokens: add(outcome.response) })
      } else if (outcome.kind === 'refused') {
        // It stays taken.
        code.isLeft ||= redirectUri === BINDING.redirectUri
        history.note(start, { ...exchange, outcome: 'refused' })
      } else if (outcome.kind === 'unknown') await noteUnknownExchange(code, how, start, redirectUri)
      code.open -= 1
    },

    /** @param {Tokens} token @param {How} how */
    async refresh(token, how) {
      const start = world.now()
      const outcome = await ask(refreshForm(token.refresh), how)
      const refresh = /** @type {const} */ ({ kind: 'refresh', token: token.refreshName })
      if (outcome.kind === 'tokens') {
        token.isRotated = true
        history.note(start, { ...refresh, outcome: 'tokens', tokens: add(outcome.response) })
      } else if (outcome.kind === 'refused') {
        token.isActive = false
        history.note(start, { ...refresh, outcome: 'refused' })
      } else if (outcome.kind === 'unknown') history.noteUnknown(start, { ...refresh, outcome: 'unknown' })
    },

    /** Introspects as a guard that caches the response. @param {Tokens} token @param {How} how */
    async cache(token, how) {
      token.cached = (await introspect(token, how)) ?? token.cached
    },

    /** Uses the cached response after a proof of the feed. What the feed has ended is not used. @param {Tokens} token */
    async readCached(token) {
      const { cached } = token
      if (cached === undefined) return
      const start = world.now()
      const isUsable = await world.feeds[cached.server]?.isUsable(cached.mark, cached.names)
      if (isUsable) history.note(start, { kind: 'introspect', token: token.accessName, active: true })
    },

    /** Redis loses the record. @param {Code} code */
    async lose(code) {
      const start = world.now()
      if ((await world.tellRedis(`DEL ${code.key}`)).includes(':1'))
        history.note(start, { kind: 'lose', code: code.name })
    },

    /** Redis has an older record again, as after a failover that loses a write. @param {Code} code */
    async restore(code) {
      if (!code.isCopied) return
      const start = world.now()
      const said = await world.tellRedis(`COPY copy:${code.key} ${code.key} REPLACE`)
      if (said.includes(':1')) history.note(start, { kind: 'restore', code: code.name })
    }
  }
}

const NAMES = ['jti', 'grant_id', 'sub', 'client_id']

/** @param {Answer} answer @returns {Outcome} */
function outcomeOf(answer) {
  if (answer.kind === 'unsent') return { kind: 'nothing' }
  if (answer.kind === 'unknown' || answer.status >= 500) return { kind: 'unknown' }
  const { error, ...response } = JSON.parse(answer.body)
  if (answer.status === 200) return { kind: 'tokens', response }
  // Other refusals are decided before the code or the token is looked at: a client that is disabled, a limit.
  return { kind: error === 'invalid_grant' ? 'refused' : 'nothing' }
}
