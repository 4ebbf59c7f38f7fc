// The refreshes of the model. `evaluateRefresh` of the service decides them.
import { evaluateRefresh } from '../../services/authorization-server/dist/protocol/token/evaluate-refresh.js'
import { BINDING, changed, RETRY_WINDOW_MS, TOLERANCE_MS, withEnded, withTokens } from './model-state.mjs'

/** @import { Observed, RefreshToken, State } from './model-state.mjs' */

/**
 * @param {Extract<Observed, { kind: 'refresh' }>} operation
 * @param {State} state
 * @returns {State[]}
 */
export function refresh(operation, state) {
  const token = state.refresh[operation.token]
  if (token === undefined) return []
  return openingsOf(operation, token, state).flatMap((isWindowOpen) => {
    const evaluation = evaluateRefresh(recordOf(token, isWindowOpen, state), REQUEST, PACE)
    switch (evaluation.kind) {
      case 'rotate':
        return rotate(operation, token, state)
      case 'repeat_response':
        return repeat(operation, token, state)
      case 'end_grant':
        return operation.outcome === 'tokens' ? [] : [withEnded(state, token.grant)]
      default:
        return operation.outcome === 'tokens' ? [] : [state]
    }
  })
}

const REQUEST = { clientId: BINDING.clientId, scope: undefined, resource: undefined, dpopJkt: undefined }
const PACE = { burst: 1_000, intervalSeconds: 1 }

/**
 * @param {RefreshToken} token
 * @param {boolean} isWindowOpen
 * @param {State} state
 */
function recordOf(token, isWindowOpen, state) {
  const retryResponse = isWindowOpen ? Buffer.alloc(0) : undefined
  return {
    grantId: token.grant,
    clientId: BINDING.clientId,
    userId: 'user',
    scope: ['files.read'],
    remainingScope: ['files.read'],
    audience: BINDING.audience,
    expired: false,
    refreshableUntil: new Date(8.64e15),
    waitSeconds: 0,
    ended: state.grants[token.grant] !== true,
    signInTooOld: false,
    rotation: token.next && { retryScope: '', retryResponse },
    jkt: undefined,
    wasBound: false
  }
}

/**
 * Whether the retry window is open: both, if it ends during the operation.
 * @param {Observed} operation
 * @param {RefreshToken} token
 * @param {State} state
 */
function openingsOf({ began, ended }, { next, rotated: [from, to] }, state) {
  // The client has received the response: it has used the successor.
  if (next === undefined || state.refresh[next.refresh]?.next !== undefined) return [false]
  const maybeOpen = began - to <= RETRY_WINDOW_MS + TOLERANCE_MS
  const maybeClosed = ended - from >= RETRY_WINDOW_MS - TOLERANCE_MS
  return [...(maybeOpen ? [true] : []), ...(maybeClosed ? [false] : [])]
}

/**
 * @param {Extract<Observed, { kind: 'refresh' }>} operation
 * @param {RefreshToken} token
 * @param {State} state
 * @returns {State[]}
 */
function rotate(operation, { grant }, state) {
  const { id, token, began, ended } = operation
  if (operation.outcome === 'refused') return []
  const next = operation.outcome === 'tokens' ? operation.tokens : { access: `?${id}`, refresh: `?${id}` }
  if (state.refresh[next.refresh] !== undefined || state.access[next.access] !== undefined) return []
  return [
    withTokens({ ...state, refresh: changed(state.refresh, token, { next, rotated: [began, ended] }) }, grant, next)
  ]
}

/**
 * @param {Extract<Observed, { kind: 'refresh' }>} operation
 * @param {RefreshToken} token
 * @param {State} state
 * @returns {State[]}
 */
function repeat(operation, { next, grant }, state) {
  if (operation.outcome === 'refused' || next === undefined) return []
  if (operation.outcome !== 'tokens') return [state]
  const { tokens } = operation
  if (next.access === tokens.access && next.refresh === tokens.refresh) return [state]
  if (!next.refresh.startsWith('?') || state.refresh[tokens.refresh] !== undefined) return []
  // The response of the rotation was lost; this one names its tokens.
  const { [next.refresh]: _refresh, ...otherRefresh } = state.refresh
  const { [next.access]: _access, ...otherAccess } = state.access
  const renamed = { ...state, refresh: changed(otherRefresh, operation.token, { next: tokens }), access: otherAccess }
  return [withTokens(renamed, grant, tokens)]
}
