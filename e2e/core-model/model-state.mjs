// The state of the model and its changes.

/** @import { CodeBinding } from '../../packages/oauth-protocol/dist/index.js' */
/** @typedef {{ access: string, refresh: string }} Pair names of an access and a refresh token */
/** @typedef {[from: number, to: number]} Between milliseconds between which something happened */
/**
 * `free`: can be exchanged. `held`: the exchange `by` may have stored tokens that no client has. `used`: its client has tokens.
 * `lost`: no client has its tokens, and only exchanges that began before `lostAt` may get some. `allowed`: false when the access ended
 * since Allow.
 * @typedef {{ kind: 'free' | 'held' | 'used' | 'lost', by: string, grant: string, allowed: boolean, issued: Between, lostAt: number }} Code
 */
/** @typedef {{ grant: string, revoked: boolean }} AccessToken */
/** `next`: the tokens of its rotation. A name that begins with `?` is that of a request without a response. */
/** @typedef {{ grant: string, next: Pair | undefined, rotated: Between }} RefreshToken */
/**
 * @typedef {object} State
 * @property {string} session the live session; empty: none
 * @property {boolean} consent whether it is remembered
 * @property {Record<string, boolean>} allows whether the access has not ended since these operations read it, and before they remember it
 * @property {Record<string, Code>} codes
 * @property {Record<string, boolean>} grants whether they are active
 * @property {Record<string, AccessToken>} access
 * @property {Record<string, RefreshToken>} refresh
 */
/**
 * @typedef {(
 *   | { kind: 'sign_in', session: string }
 *   | { kind: 'authorize', session: string, outcome: 'asked' | 'sign_in' }
 *   | { kind: 'authorize' | 'allow', session: string, outcome: 'code', code: string }
 *   | { kind: 'allow', session: string, outcome: 'sign_in' | 'unknown' }
 *   | { kind: 'remember', allow: string }
 *   | { kind: 'exchange', code: string, redirectUri: string, outcome: 'tokens', tokens: Pair }
 *   | { kind: 'exchange', code: string, redirectUri: string, outcome: 'refused' | 'unknown' }
 *   | { kind: 'give_back' | 'given_back', code: string, exchange: string }
 *   | { kind: 'not_given_back', code: string }
 *   | { kind: 'lose' | 'restore', code: string }
 *   | { kind: 'refresh', token: string, outcome: 'tokens', tokens: Pair }
 *   | { kind: 'refresh', token: string, outcome: 'refused' | 'unknown' }
 *   | { kind: 'introspect', token: string, active: boolean }
 *   | { kind: 'revoke_access' | 'revoke_refresh' | 'end_grant', token: string }
 *   | { kind: 'end_authorization' | 'end_client' | 'end_user' }
 * ) & { id: string, began: number, ended: number }} Observed `began`, `ended`: milliseconds; `id` is unique
 */

export const CODE_LIFE_MS = 29_000
export const RETRY_WINDOW_MS = 1_000
/** Reads of clocks are not simultaneous. */
export const TOLERANCE_MS = 50
/** @type {CodeBinding} */
export const BINDING = {
  clientId: 'client',
  redirectUri: 'https://app.example/callback',
  codeChallenge: undefined,
  audience: 'https://files.example'
}

/** @type {State} */
export const INITIAL = { session: '', consent: false, allows: {}, codes: {}, grants: {}, access: {}, refresh: {} }

/**
 * @template Value
 * @param {Record<string, Value>} all
 * @param {string} name
 * @param {Partial<Value>} change
 * @returns {Record<string, Value>}
 */
export function changed(all, name, change) {
  const value = all[name]
  return value === undefined ? all : { ...all, [name]: { ...value, ...change } }
}

/** @param {string} name @param {State} state */
export const isFree = (name, { codes }) => codes[name]?.kind === 'free'

/** @param {{ code: string, exchange: string }} held @param {State} state */
export const isHeldBy = ({ code, exchange: by }, { codes }) => codes[code]?.kind === 'held' && codes[code].by === by

/** @param {string} name @param {State} state */
export function isActive(name, { access, grants }) {
  const token = access[name]
  return token !== undefined && !token.revoked && grants[token.grant] === true
}

/** @param {State} state @param {string} name @param {Partial<Code>} change @returns {State} */
export const withCode = (state, name, change) => ({ ...state, codes: changed(state.codes, name, change) })

/** @param {State} state @param {string} name @returns {State} */
export const withGrant = (state, name) => ({ ...state, grants: { ...state.grants, [name]: true } })

/** @param {State} state @param {string} grant @param {Pair} pair @returns {State} */
export const withTokens = (state, grant, pair) => ({
  ...state,
  access: { ...state.access, [pair.access]: { grant, revoked: false } },
  refresh: { ...state.refresh, [pair.refresh]: { grant, next: undefined, rotated: [0, 0] } }
})

/** @param {State} state @param {string | undefined} grant @returns {State} */
export const withEnded = (state, grant) =>
  grant === undefined ? state : { ...state, grants: { ...state.grants, [grant]: false } }

/**
 * Every grant, every code that is not exchanged, and every Allow that is not complete.
 * @param {State} state
 * @returns {State}
 */
export function withAllEnded(state) {
  const none = (/** @type {Record<string, boolean>} */ all) =>
    Object.fromEntries(Object.keys(all).map((name) => [name, false]))
  const codes = Object.entries(state.codes).map(
    ([name, code]) => /** @type {const} */ ([name, { ...code, allowed: false }])
  )
  return { ...state, codes: Object.fromEntries(codes), grants: none(state.grants), allows: none(state.allows) }
}
