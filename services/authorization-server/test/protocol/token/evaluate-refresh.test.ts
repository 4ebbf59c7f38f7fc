import { describe, expect, test } from '@jest/globals'
import {
  evaluateRefresh,
  type PresentedRefresh,
  requestedScopeKey
} from '../../../src/protocol/token/evaluate-refresh.js'
import type { RefreshTokenRecord } from '../../../src/storage/postgres/refresh-tokens.js'

const ANSWER = Buffer.from('sealed')

const record: RefreshTokenRecord = {
  grantId: 'grant',
  clientId: 'printer',
  userId: 'alice',
  scope: ['files.read', 'files.read:images'],
  audience: 'https://files.example',
  expired: false,
  refreshableUntil: new Date('2026-11-21T12:00:00.000Z'),
  waitSeconds: 0,
  ended: false,
  rotation: undefined
}
const rotation = { retryScope: '', retryAnswer: ANSWER }
const presented: PresentedRefresh = { clientId: 'printer', scope: undefined, resource: undefined }

type Change = { record?: Partial<RefreshTokenRecord>; presented?: Partial<PresentedRefresh> }
const judge = (change: Change) =>
  evaluateRefresh({ ...record, ...change.record }, { ...presented, ...change.presented })

const GRANTED = ['files.read', 'files.read:images']
const refusal = (error: string, reason: string) => ({ kind: 'refuse', error, reason })

describe('a refresh token that was not used', () => {
  test.each<{ name: string; change: Change; outcome: object }>([
    { name: 'is rotated with all of the scope', change: {}, outcome: { kind: 'rotate', scope: GRANTED } },
    {
      name: 'is rotated with the scope that is asked for, as it is asked for',
      change: { presented: { scope: ['files.read:images', 'files.read'] } },
      outcome: { kind: 'rotate', scope: ['files.read:images', 'files.read'] }
    },
    {
      name: 'is rotated with less scope',
      change: { presented: { scope: ['files.read'] } },
      outcome: { kind: 'rotate', scope: ['files.read'] }
    },
    {
      name: 'is rotated for its own resource by name',
      change: { presented: { resource: 'https://files.example' } },
      outcome: { kind: 'rotate', scope: GRANTED }
    },
    {
      name: 'is refused to another client',
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
      name: 'is refused for more scope',
      change: { presented: { scope: [...GRANTED, 'files.read:media'] } },
      outcome: refusal('invalid_scope', 'wider_scope')
    },
    {
      name: 'is refused for another resource',
      change: { presented: { resource: 'https://files.example/' } },
      outcome: refusal('invalid_target', 'resource')
    }
  ])('$name (RFC 6749 6)', ({ change, outcome }) => {
    expect(judge(change)).toEqual(outcome)
  })
})

describe('a refresh token that was used', () => {
  const narrow = { ...rotation, retryScope: 'files.read:images' }
  const again = { kind: 'repeat_answer', answer: ANSWER }
  test.each<{ name: string; change: Change; outcome: object }>([
    {
      name: 'in the window brings the same answer',
      change: { record: { rotation } },
      outcome: { ...again, scope: GRANTED }
    },
    {
      name: 'in the window with the same scope brings the same answer',
      change: { record: { rotation: narrow }, presented: { scope: ['files.read:images'] } },
      outcome: { ...again, scope: ['files.read:images'] }
    },
    {
      name: 'in the window with a scope where none was is another request',
      change: { record: { rotation }, presented: { scope: ['files.read'] } },
      outcome: refusal('invalid_scope', 'other_scope_in_retry_window')
    },
    {
      name: 'in the window without the scope that was there is another request',
      change: { record: { rotation: narrow } },
      outcome: refusal('invalid_scope', 'other_scope_in_retry_window')
    },
    {
      name: 'after the window, or where its answer was erased, ends the grant',
      change: { record: { rotation: { ...rotation, retryAnswer: undefined } } },
      outcome: { kind: 'end_grant' }
    },
    {
      name: 'after the window with another scope ends the grant',
      change: {
        record: { rotation: { ...narrow, retryAnswer: undefined } },
        presented: { scope: ['files.read'] }
      },
      outcome: { kind: 'end_grant' }
    },
    {
      name: 'by another client is refused',
      change: { record: { rotation: { ...rotation, retryAnswer: undefined } }, presented: { clientId: 'other' } },
      outcome: refusal('invalid_grant', 'wrong_client')
    },
    {
      name: 'when its grant has ended is refused, window or not',
      change: { record: { rotation, ended: true } },
      outcome: refusal('invalid_grant', 'grant_ended')
    },
    {
      name: 'in the window brings the same answer, though it has expired itself',
      change: { record: { rotation, expired: true } },
      outcome: { ...again, scope: GRANTED }
    },
    {
      name: 'when it has expired, and its window has closed, is refused',
      change: { record: { rotation: { ...rotation, retryAnswer: undefined }, expired: true } },
      outcome: refusal('invalid_grant', 'expired')
    },
    {
      name: 'for more scope is refused and ends nothing',
      change: {
        record: { rotation: { ...rotation, retryAnswer: undefined } },
        presented: { scope: ['files.read:media'] }
      },
      outcome: refusal('invalid_scope', 'wider_scope')
    },
    {
      name: 'for another resource is refused and ends nothing',
      change: {
        record: { rotation: { ...rotation, retryAnswer: undefined } },
        presented: { resource: 'https://o.example' }
      },
      outcome: refusal('invalid_target', 'resource')
    }
  ])('$name (RFC 9700 4.14.2)', ({ change, outcome }) => {
    expect(judge(change)).toEqual(outcome)
  })
})

describe('the order of refusals: nothing is told to who may not know', () => {
  const everythingWrong: Change = {
    record: { ended: true, expired: true, rotation: { ...rotation, retryAnswer: undefined } },
    presented: { clientId: 'other', scope: ['files.read:media'], resource: 'https://other.example' }
  }
  test.each([
    { mended: {}, reason: 'wrong_client' },
    { mended: { presented: { clientId: 'printer' } }, reason: 'grant_ended' },
    { mended: { presented: { clientId: 'printer' }, record: { ended: false } }, reason: 'expired' },
    {
      mended: { presented: { clientId: 'printer' }, record: { ended: false, expired: false } },
      reason: 'wider_scope'
    },
    {
      mended: {
        presented: { clientId: 'printer', scope: undefined },
        record: { ended: false, expired: false }
      },
      reason: 'resource'
    }
  ])('then $reason', ({ mended, reason }) => {
    const change = {
      record: { ...everythingWrong.record, ...mended.record },
      presented: { ...everythingWrong.presented, ...mended.presented }
    }
    expect(judge(change)).toMatchObject({ kind: 'refuse', reason })
  })
})

describe('the key of a requested scope', () => {
  test.each([
    { scope: undefined, key: '' },
    { scope: ['b', 'a'], key: 'a b' },
    { scope: ['a', 'b'], key: 'a b' },
    { scope: ['a:c', 'a'], key: 'a a:c' }
  ])('$scope is "$key"', ({ scope, key }) => {
    expect(requestedScopeKey(scope)).toBe(key)
  })

  test('leaves the scope in its order', () => {
    const scope = ['b', 'a']
    requestedScopeKey(scope)
    expect(scope).toEqual(['b', 'a'])
  })
})
