import { expect, test } from '@jest/globals'
import { evaluateRefresh, type PresentedRefresh } from '../../../src/protocol/token/evaluate-refresh.js'
import type { RefreshTokenRecord } from '../../../src/storage/postgres/refresh-tokens.js'

const record: RefreshTokenRecord = {
  grantId: 'grant',
  clientId: 'printer',
  userId: 'alice',
  scope: ['files.read', 'files.read:images'],
  remainingScope: ['files.read'],
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
const presented: PresentedRefresh = { clientId: 'printer', scope: undefined, resource: undefined, dpopJkt: undefined }
const retry = { rotation: { retryScope: '', retryResponse: Buffer.from('encrypted') } }
const END = { kind: 'end_grant', reason: 'no_scope_left' }

type Change = { record?: Partial<RefreshTokenRecord>; presented?: Partial<PresentedRefresh> }

test.each<{ name: string; change: Change; outcome: object }>([
  { name: 'without scope: what is left', change: {}, outcome: { kind: 'rotate', scope: ['files.read'] } },
  {
    name: 'with the granted scope: what is left',
    change: { presented: { scope: ['files.read:images', 'files.read'] } },
    outcome: { kind: 'rotate', scope: ['files.read'] }
  },
  {
    name: 'with only the lost scope: refused',
    change: { presented: { scope: ['files.read:images'] } },
    outcome: { kind: 'refuse', error: 'invalid_scope', reason: 'lost_scope' }
  },
  {
    name: 'with a scope that was never granted: refused',
    change: { presented: { scope: ['files.read:media'] } },
    outcome: { kind: 'refuse', error: 'invalid_scope', reason: 'wider_scope' }
  },
  {
    name: 'in the retry window: the same response with what is left',
    change: { record: retry },
    outcome: { kind: 'repeat_response', scope: ['files.read'] }
  },
  { name: 'nothing left: the grant ends', change: { record: { remainingScope: [] } }, outcome: END },
  {
    name: 'nothing left, in the retry window: the grant ends',
    change: { record: { ...retry, remainingScope: [] } },
    outcome: END
  },
  {
    name: 'nothing left, from another client: refused, and nothing ends',
    change: { record: { remainingScope: [] }, presented: { clientId: 'other' } },
    outcome: { kind: 'refuse', error: 'invalid_grant', reason: 'wrong_client' }
  }
])('refresh after a scope was lost, $name (RFC 6749 §6)', ({ change, outcome }) => {
  const evaluation = evaluateRefresh(
    { ...record, ...change.record },
    { ...presented, ...change.presented },
    {
      burst: 30,
      intervalSeconds: 60
    }
  )
  expect(evaluation).toMatchObject(outcome)
})
