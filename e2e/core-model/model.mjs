// What one user, one client and their codes, grants and tokens do, one operation at a time: the sequential model of the contract
// (docs/contract.md). Pure: `effectsOf` returns the states that an observed operation may lead to; none: the model forbids its
// outcome. Bindings and refreshes are decided by the rules of the service.
import { bindingMismatch } from '../../packages/oauth-protocol/dist/index.js'
import {
  BINDING,
  CODE_LIFE_MS,
  changed,
  isActive,
  isFree,
  isHeldBy,
  TOLERANCE_MS,
  withAllEnded,
  withCode,
  withEnded,
  withGrant,
  withTokens
} from './model-state.mjs'
import { refresh } from './refresh-model.mjs'

/** @import { Code, Observed, State } from './model-state.mjs' */

/**
 * @param {Observed} operation
 * @param {State} state
 * @returns {State[]}
 */
export function effectsOf(operation, state) {
  switch (operation.kind) {
    case 'sign_in':
      return [{ ...state, session: operation.session }]
    case 'authorize':
    case 'allow':
      return authorize(operation, state)
    case 'remember':
      return remember(operation.allow, state)
    case 'exchange':
      return exchange(operation, state)
    case 'give_back':
      return isHeldBy(operation, state) ? [withCode(state, operation.code, { kind: 'free', by: '' })] : []
    case 'given_back':
      return isHeldBy(operation, state) ? [] : [state]
    case 'not_given_back':
      // After an end of the access nothing can be exchanged, so nothing is given back.
      return state.codes[operation.code]?.allowed ? [] : [state]
    case 'lose':
      return isFree(operation.code, state)
        ? [withCode(state, operation.code, { kind: 'lost', lostAt: operation.ended })]
        : [state]
    case 'restore':
      return restore(operation.code, state)
    case 'refresh':
      return refresh(operation, state)
    case 'introspect':
      return operation.active === isActive(operation.token, state) ? [state] : []
    case 'revoke_access':
      return [{ ...state, access: changed(state.access, operation.token, { revoked: true }) }]
    case 'revoke_refresh':
      return [withEnded(state, state.refresh[operation.token]?.grant)]
    case 'end_grant':
      return [withEnded(state, state.access[operation.token]?.grant)]
    case 'end_authorization':
      return [{ ...withAllEnded(state), consent: false }]
    case 'end_client':
      return [withAllEnded(state)]
    case 'end_user':
      return [{ ...withAllEnded(state), session: '' }]
  }
}

/**
 * @param {Extract<Observed, { kind: 'authorize' | 'allow' }>} operation
 * @param {State} state
 * @returns {State[]}
 */
function authorize(operation, state) {
  const { kind, id, session } = operation
  if (operation.outcome === 'sign_in') return state.session === session ? [] : [state]
  if (state.session !== session) return []
  if (operation.outcome === 'asked') return state.consent ? [] : [state]
  if (kind === 'authorize' && !state.consent) return []
  const allows = kind === 'allow' ? { ...state.allows, [id]: true } : state.allows
  if (operation.outcome !== 'code') return [{ ...state, allows }]
  /** @type {Code} */
  const code = { kind: 'free', by: '', grant: '', allowed: true, issued: [operation.began, operation.ended], lostAt: 0 }
  return [{ ...state, allows, codes: { ...state.codes, [operation.code]: code } }]
}

/**
 * The second half of Allow: nothing is remembered if the access has ended since the first (ADR 0023).
 * @param {string} allow
 * @param {State} state
 * @returns {State[]}
 */
function remember(allow, state) {
  const { [allow]: holds, ...allows } = state.allows
  return holds === undefined ? [] : [{ ...state, allows, consent: state.consent || holds }]
}

/**
 * @param {Extract<Observed, { kind: 'exchange' }>} operation
 * @param {State} state
 * @returns {State[]}
 */
function exchange(operation, state) {
  const { id, redirectUri, outcome, began, ended } = operation
  const code = state.codes[operation.code]
  if (code === undefined) return []
  const isMismatch = bindingMismatch(BINDING, { ...BINDING, redirectUri, resource: undefined }) !== undefined
  if (isMismatch) return outcome === 'tokens' ? [] : [state]
  const isFresh = began - code.issued[1] <= CODE_LIFE_MS + TOLERANCE_MS
  const isOld = ended - code.issued[0] >= CODE_LIFE_MS - TOLERANCE_MS
  if (outcome === 'tokens') {
    if (!isHoldable(code, began) || !isFresh) return []
    return [
      withTokens(withCode(withGrant(state, id), operation.code, { kind: 'used', grant: id }), id, operation.tokens)
    ]
  }
  // RFC 6749 §4.1.2: the tokens of a code that is used twice end.
  if (code.kind === 'used') return [withEnded(state, code.grant)]
  if (code.kind === 'held') return [withCode(state, operation.code, { kind: 'lost' })]
  if (outcome === 'unknown')
    return isHoldable(code, began) ? [withCode(state, operation.code, { kind: 'held', by: id })] : [state]
  return code.kind === 'free' && code.allowed && !isOld ? [] : [state]
}

/** @param {Code} code @param {number} began */
const isHoldable = ({ kind, allowed, lostAt }, began) =>
  allowed && (kind === 'free' || (kind === 'lost' && began < lostAt))

/**
 * Redis has the record of a code again. It decides nothing about a code whose client has tokens.
 * @param {string} name
 * @param {State} state
 */
function restore(name, state) {
  const kind = state.codes[name]?.kind
  return kind === 'lost' || kind === 'held' ? [state, withCode(state, name, { kind: 'free', by: '' })] : [state]
}
