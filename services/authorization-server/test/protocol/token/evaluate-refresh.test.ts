import { describe, expect, test } from '@jest/globals'
import {
  evaluateRefresh,
  type PresentedRefresh,
  requestedScopeKey
} from '../../../src/protocol/token/evaluate-refresh.js'
import type { RefreshTokenRecord } from '../../../src/storage/postgres/refresh-tokens.js'

const RESPONSE = Buffer.from('encrypted')
const PACE = { burst: 30, intervalSeconds: 60 }

const record: RefreshTokenRecord = {
  grantId: 'grant',
  clientId: 'printer',
  userId: 'alice',
  scope: ['files.read', 'files.read:images'],
  remainingScope: ['files.read', 'files.read:images'],
  audience: 'https://files.example',
  expired: false,
  refreshableUntil: new Date('2026-11-21T12:00:00.000Z'),
  waitSeconds: 0,
  ended: false,
  signInTooOld: false,
  rotation: undefined,
  jkt: undefined,
  wasBound: false
}
const rotation = { retryScope: '', retryResponse: RESPONSE }
const presented: PresentedRefresh = { clientId: 'printer', scope: undefined, resource: undefined, dpopJkt: undefined }

type Change = { record?: Partial<RefreshTokenRecord>; presented?: Partial<PresentedRefresh> }
const evaluate = (change: Change) =>
  evaluateRefresh({ ...record, ...change.record }, { ...presented, ...change.presented }, PACE)

const GRANTED = ['files.read', 'files.read:images']
const refusal = (error: string, reason: string) => ({ kind: 'refuse', error, reason })

describe('evaluateRefresh: an unused refresh token', () => {
  test.each<{ name: string; change: Change; outcome: object }>([
    { name: 'is rotated with the whole scope', change: {}, outcome: { kind: 'rotate', scope: GRANTED } },
    {
      name: 'is rotated with the requested scope, in the requested order',
      change: { presented: { scope: ['files.read:images', 'files.read'] } },
      outcome: { kind: 'rotate', scope: ['files.read:images', 'files.read'] }
    },
    {
      name: 'is rotated with a narrower scope',
      change: { presented: { scope: ['files.read'] } },
      outcome: { kind: 'rotate', scope: ['files.read'] }
    },
    {
      name: 'is rotated for its own resource',
      change: { presented: { resource: 'https://files.example' } },
      outcome: { kind: 'rotate', scope: GRANTED }
    },
    {
      name: 'is rotated for its own resource as a URL parser writes it (RFC 3986 §6.2.3)',
      change: { presented: { resource: 'https://files.example:443/' } },
      outcome: { kind: 'rotate', scope: GRANTED }
    },
    {
      name: 'is refused for another client',
      change: { presented: { clientId: 'Printer' } },
      outcome: refusal('invalid_grant', 'wrong_client')
    },
    {
      name: 'is refused when its grant has ended',
      change: { record: { ended: true } },
      outcome: refusal('invalid_grant', 'grant_ended')
    },
    {
      name: 'is refused when it has expired',
      change: { record: { expired: true } },
      outcome: refusal('invalid_grant', 'expired')
    },
    {
      name: 'is refused for a wider scope',
      change: { presented: { scope: [...GRANTED, 'files.read:media'] } },
      outcome: refusal('invalid_scope', 'wider_scope')
    },
    {
      name: 'must wait while the pace allows no refresh',
      change: { record: { waitSeconds: 1.5 } },
      outcome: { kind: 'wait', seconds: 2 }
    },
    {
      name: 'is refused for a wider scope before it must wait',
      change: { record: { waitSeconds: 1.5 }, presented: { scope: ['files.read:media'] } },
      outcome: refusal('invalid_scope', 'wider_scope')
    },
    {
      name: 'is refused for another resource',
      change: { presented: { resource: 'https://files.example//' } },
      outcome: refusal('invalid_target', 'resource')
    }
  ])('$name (RFC 6749 6)', ({ change, outcome }) => {
    expect(evaluate(change)).toEqual(outcome)
  })
})

describe('evaluateRefresh: a used refresh token', () => {
  const narrow = { ...rotation, retryScope: 'files.read:images' }
  const again = { kind: 'repeat_response', response: RESPONSE }
  test.each<{ name: string; change: Change; outcome: object }>([
    {
      name: 'in the window gets the same response',
      change: { record: { rotation } },
      outcome: { ...again, scope: GRANTED }
    },
    {
      name: 'in the window with the same scope gets the same response',
      change: { record: { rotation: narrow }, presented: { scope: ['files.read:images'] } },
      outcome: { ...again, scope: ['files.read:images'] }
    },
    {
      name: 'in the window with a scope that the first request did not have is refused',
      change: { record: { rotation }, presented: { scope: ['files.read'] } },
      outcome: refusal('invalid_scope', 'other_scope_in_retry_window')
    },
    {
      name: 'in the window without the scope of the first request is refused',
      change: { record: { rotation: narrow } },
      outcome: refusal('invalid_scope', 'other_scope_in_retry_window')
    },
    {
      name: 'after the window, or with an erased response, ends the grant',
      change: { record: { rotation: { ...rotation, retryResponse: undefined } } },
      outcome: { kind: 'end_grant', reason: 'reused' }
    },
    {
      name: 'after the window with another scope ends the grant',
      change: {
        record: { rotation: { ...narrow, retryResponse: undefined } },
        presented: { scope: ['files.read'] }
      },
      outcome: { kind: 'end_grant', reason: 'reused' }
    },
    {
      name: 'from another client is refused',
      change: { record: { rotation: { ...rotation, retryResponse: undefined } }, presented: { clientId: 'other' } },
      outcome: refusal('invalid_grant', 'wrong_client')
    },
    {
      name: 'is refused when its grant has ended, also in the window',
      change: { record: { rotation, ended: true } },
      outcome: refusal('invalid_grant', 'grant_ended')
    },
    {
      name: 'in the window gets the same response, also when it has expired',
      change: { record: { rotation, expired: true } },
      outcome: { ...again, scope: GRANTED }
    },
    {
      name: 'is refused when it has expired and the window has closed',
      change: { record: { rotation: { ...rotation, retryResponse: undefined }, expired: true } },
      outcome: refusal('invalid_grant', 'expired')
    },
    {
      name: 'for a wider scope is refused and ends nothing',
      change: {
        record: { rotation: { ...rotation, retryResponse: undefined } },
        presented: { scope: ['files.read:media'] }
      },
      outcome: refusal('invalid_scope', 'wider_scope')
    },
    {
      name: 'for another resource is refused and ends nothing',
      change: {
        record: { rotation: { ...rotation, retryResponse: undefined } },
        presented: { resource: 'https://o.example' }
      },
      outcome: refusal('invalid_target', 'resource')
    }
  ])('$name (RFC 9700 4.14.2)', ({ change, outcome }) => {
    expect(evaluate(change)).toEqual(outcome)
  })
})

describe('evaluateRefresh: the user has not signed in for longer than SIGN_IN_AT_LEAST_EVERY', () => {
  const ended = { kind: 'end_grant', reason: 'sign_in_too_old' }
  test.each<{ name: string; change: Change; outcome: object }>([
    { name: 'ends the grant', change: {}, outcome: ended },
    { name: 'also for a wider scope', change: { presented: { scope: ['files.read:media'] } }, outcome: ended },
    { name: 'also in the retry window', change: { record: { rotation } }, outcome: ended },
    { name: 'also of an expired token', change: { record: { expired: true } }, outcome: ended },
    {
      name: 'but not for another client',
      change: { presented: { clientId: 'other' } },
      outcome: refusal('invalid_grant', 'wrong_client')
    },
    {
      name: 'but not a second time',
      change: { record: { ended: true } },
      outcome: refusal('invalid_grant', 'grant_ended')
    }
  ])('$name', ({ change, outcome }) => {
    expect(evaluate({ ...change, record: { signInTooOld: true, ...change.record } })).toEqual(outcome)
  })
})

describe('evaluateRefresh: a refresh token of a grant that was made with a key', () => {
  const withoutKey = refusal('invalid_client', 'grant_requires_key')
  const reused: Change['record'] = { rotation: { ...rotation, retryResponse: undefined } }
  test.each<{ name: string; change: Change; outcome: object }>([
    {
      name: 'is rotated with the key',
      change: { presented: { provedKey: true } },
      outcome: { kind: 'rotate', scope: GRANTED }
    },
    { name: 'is refused without it', change: {}, outcome: withoutKey },
    { name: 'gets no repeated response without it', change: { record: { rotation } }, outcome: withoutKey },
    { name: 'ends no grant without it, if it was rotated', change: { record: reused }, outcome: withoutKey },
    {
      name: 'ends no grant without it, if the sign-in is too old',
      change: { record: { signInTooOld: true } },
      outcome: withoutKey
    },
    {
      name: 'ends no grant without it, if no scope is left',
      change: { record: { remainingScope: [] } },
      outcome: withoutKey
    },
    {
      name: 'is refused as that of an ended grant',
      change: { record: { ended: true } },
      outcome: refusal('invalid_grant', 'grant_ended')
    }
  ])('$name', ({ change, outcome }) => {
    expect(evaluate({ ...change, record: { requiresKey: true, ...change.record } })).toEqual(outcome)
  })
})

describe('evaluateRefresh: order of refusals, the least revealing first', () => {
  const everythingWrong: Change = {
    record: { ended: true, expired: true, rotation: { ...rotation, retryResponse: undefined } },
    presented: { clientId: 'other', scope: ['files.read:media'], resource: 'https://other.example' }
  }
  test.each([
    { fixed: {}, reason: 'wrong_client' },
    { fixed: { presented: { clientId: 'printer' } }, reason: 'grant_ended' },
    { fixed: { presented: { clientId: 'printer' }, record: { ended: false } }, reason: 'expired' },
    {
      fixed: { presented: { clientId: 'printer' }, record: { ended: false, expired: false } },
      reason: 'wider_scope'
    },
    {
      fixed: {
        presented: { clientId: 'printer', scope: undefined },
        record: { ended: false, expired: false }
      },
      reason: 'resource'
    }
  ])('the next reason is $reason', ({ fixed, reason }) => {
    const change = {
      record: { ...everythingWrong.record, ...fixed.record },
      presented: { ...everythingWrong.presented, ...fixed.presented }
    }
    expect(evaluate(change)).toMatchObject({ kind: 'refuse', reason })
  })
})

describe('requestedScopeKey', () => {
  test.each([
    { scope: undefined, key: '' },
    { scope: ['b', 'a'], key: 'a b' },
    { scope: ['a', 'b'], key: 'a b' },
    { scope: ['a:c', 'a'], key: 'a a:c' }
  ])('$scope gives "$key"', ({ scope, key }) => {
    expect(requestedScopeKey(scope)).toBe(key)
  })

  test('does not sort its argument', () => {
    const scope = ['b', 'a']
    requestedScopeKey(scope)
    expect(scope).toEqual(['b', 'a'])
  })
})
