import { describe, expect, test } from '@jest/globals'
import {
  addNonce,
  applyEvent,
  beginCall,
  disconnect,
  emptyView,
  isUnrevoked,
  isVerified,
  LEASE_MS,
  type RevocationView,
  resetView,
  viewWithoutFeed
} from '../../src/revocations/revocation-view.js'

const NAMES = ['jti:token-1', 'grant_id:grant-1', 'sub:alice', 'client_id:printer']

function opened({ epoch = 'epoch', counter = 0 } = {}): RevocationView {
  const view = emptyView()
  applyEvent(view, { event: 'opened', id: `${epoch}-${counter}`, data: '{"stream":"stream-1"}' })
  return view
}
const revoked = (view: RevocationView, number: number, members: object, epoch = 'epoch') =>
  applyEvent(view, { event: 'revoked', id: `${epoch}-${number}`, data: JSON.stringify(members) })
const proof = (view: RevocationView, number: number, nonce: string, epoch = 'epoch') =>
  applyEvent(view, { event: 'proof', id: `${epoch}-${number}`, data: JSON.stringify({ nonce }) })

describe('the lease', () => {
  test('does not run before a nonce has returned', () => {
    const view = opened()
    addNonce(view, 'n', 0)
    expect(isVerified(view, 0)).toBe(false)
  })

  test('runs from the time the nonce was sent, not from its return', () => {
    const view = opened()
    addNonce(view, 'n', 1_000)
    proof(view, 0, 'n')
    expect(isVerified(view, 1_000 + LEASE_MS - 1)).toBe(true)
    expect(isVerified(view, 1_000 + LEASE_MS)).toBe(false)
  })

  test('a late proof of an earlier nonce does not shorten it', () => {
    const view = opened()
    addNonce(view, 'old', 0)
    addNonce(view, 'new', 1_500)
    proof(view, 0, 'new')
    proof(view, 0, 'old')
    expect(isVerified(view, 3_000)).toBe(true)
  })

  test.each([
    { name: 'that the guard did not send', nonce: 'foreign' },
    { name: 'that is not a string', nonce: 7 as unknown as string }
  ])('a proof with a nonce $name has no effect', ({ nonce }) => {
    const view = opened()
    addNonce(view, 'n', 0)
    expect(proof(view, 0, nonce)).toBe(true)
    expect(isVerified(view, 1)).toBe(false)
  })

  test('a second proof with the same nonce has no effect', () => {
    const view = opened()
    addNonce(view, 'n', 0)
    proof(view, 0, 'n')
    view.verifiedUntil = 0
    proof(view, 0, 'n')
    expect(isVerified(view, 1)).toBe(false)
  })

  test('a nonce of a lost connection has no effect on the next one', () => {
    const view = opened()
    addNonce(view, 'n', 0)
    resetView(view)
    applyEvent(view, { event: 'opened', id: 'second-0', data: '{"stream":"stream-2"}' })
    proof(view, 0, 'n', 'second')
    expect(isVerified(view, 1)).toBe(false)
  })

  test('keeps a bounded number of nonces that have not returned', () => {
    const view = opened()
    for (let sent = 0; sent < 1_000; sent++) addNonce(view, `n${sent}`, sent)
    expect(view.nonces.size).toBeLessThan(10)
    proof(view, 0, 'n999')
    expect(isVerified(view, 1_000)).toBe(true)
  })
})

describe('a cached result becomes invalid', () => {
  test.each([
    { name: 'its token', members: { jti: 'token-1' } },
    { name: 'its grant', members: { grant_id: 'grant-1' } },
    { name: 'its user', members: { sub: 'alice' } },
    { name: 'its client', members: { client_id: 'printer' } },
    { name: 'an object of an unknown kind', members: { tenant: 't' } }
  ])('by an event that names $name', ({ members }) => {
    const view = opened()
    const mark = beginCall(view, 0)
    expect(isUnrevoked(view, mark, NAMES)).toBe(true)
    revoked(view, 1, members)
    expect(isUnrevoked(view, mark, NAMES)).toBe(false)
    expect(isUnrevoked(view, beginCall(view, 0), NAMES)).toBe(true)
  })

  test.each([
    { name: 'another token', members: { jti: 'token-2' } },
    { name: 'a client with the id of the user', members: { client_id: 'alice' } }
  ])('not by an event that names $name', ({ members }) => {
    const view = opened()
    const mark = beginCall(view, 0)
    revoked(view, 1, members)
    expect(isUnrevoked(view, mark, NAMES)).toBe(true)
  })

  test('by resetView, and by the next stream', () => {
    const view = opened()
    const mark = beginCall(view, 0)
    resetView(view)
    expect(isUnrevoked(view, mark, NAMES)).toBe(false)
    const between = beginCall(view, 0)
    applyEvent(view, { event: 'opened', id: 'epoch-0', data: '{"stream":"stream-2"}' })
    expect(isUnrevoked(view, between, NAMES)).toBe(false)
  })

  test('after a broken connection, when the lease ends or the next stream is opened', () => {
    const view = opened()
    addNonce(view, 'n', 0)
    proof(view, 0, 'n')
    const mark = beginCall(view, 1)
    disconnect(view)
    expect([isVerified(view, LEASE_MS - 1), isVerified(view, LEASE_MS)]).toEqual([true, false])
    expect(isUnrevoked(view, mark, NAMES)).toBe(true)
    applyEvent(view, { event: 'opened', id: 'epoch-0', data: '{"stream":"stream-2"}' })
    expect(isUnrevoked(view, mark, NAMES)).toBe(false)
  })

  test('if its mark is older than a revocation that no longer fits into memory', () => {
    const view = opened()
    const early = beginCall(view, 0)
    for (let number = 1; number <= 20_000; number++) revoked(view, number, { jti: `other-${number}` })
    expect(isUnrevoked(view, early, NAMES)).toBe(true)
    const late = beginCall(view, 0)
    revoked(view, 20_001, { jti: 'one more' })
    expect(isUnrevoked(view, early, NAMES)).toBe(false)
    expect(isUnrevoked(view, late, NAMES)).toBe(true)
    expect(view.revocations.size).toBe(20_000)
  })
})

describe('applyEvent returns false', () => {
  test.each([
    { name: 'a number is missing', act: (view: RevocationView) => revoked(view, 2, { jti: 'x' }) },
    { name: 'a number is repeated', act: (view: RevocationView) => revoked(view, 0, { jti: 'x' }) },
    { name: 'another epoch begins', act: (view: RevocationView) => revoked(view, 1, { jti: 'x' }, 'other') },
    { name: 'a proof has a later number than the last revocation', act: (view: RevocationView) => proof(view, 1, 'n') },
    { name: 'a proof has another epoch', act: (view: RevocationView) => proof(view, 0, 'n', 'other') },
    {
      name: 'the stream is opened twice',
      act: (view: RevocationView) => applyEvent(view, { event: 'opened', id: 'epoch-0', data: '{"stream":"s"}' })
    },
    {
      name: 'an id is malformed',
      act: (view: RevocationView) => applyEvent(view, { event: 'revoked', id: 'epoch', data: '{}' })
    },
    {
      name: 'the data are not JSON',
      act: (view: RevocationView) => applyEvent(view, { event: 'revoked', id: 'epoch-1', data: '{' })
    },
    {
      name: 'the data are not an object',
      act: (view: RevocationView) => applyEvent(view, { event: 'revoked', id: 'epoch-1', data: '7' })
    }
  ])('$name', ({ act }) => {
    expect(act(opened())).toBe(false)
  })

  test('an event arrives before the stream is opened', () => {
    expect(revoked(emptyView(), 1, { jti: 'x' })).toBe(false)
  })

  test('the opening has no stream id', () => {
    expect(applyEvent(emptyView(), { event: 'opened', id: 'epoch-0', data: '{}' })).toBe(false)
  })
})

test('the view accepts a stream that begins with a later number, and an epoch with hyphens', () => {
  const view = opened({ epoch: 'a-b-c', counter: 41 })
  expect(revoked(view, 42, { jti: 'x' }, 'a-b-c')).toBe(true)
})

test('the view ignores an event of an unknown type, if its number is right', () => {
  const view = opened()
  expect(applyEvent(view, { event: 'weather', id: 'epoch-0', data: '{}' })).toBe(true)
  expect(applyEvent(view, { event: 'weather', id: 'epoch-1', data: '{}' })).toBe(false)
})

test('without a feed a result stays valid', () => {
  const view = viewWithoutFeed()
  expect(isVerified(view, Number.MAX_SAFE_INTEGER)).toBe(true)
  expect(isUnrevoked(view, beginCall(view, 0), NAMES)).toBe(true)
})
