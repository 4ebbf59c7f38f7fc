import { describe, expect, test } from '@jest/globals'
import {
  beginCall,
  emptyView,
  interrupt,
  isVerified,
  LEASE_MS,
  loseStream,
  type RevocationView,
  receive,
  sendNonce,
  stands,
  viewWithoutFeed
} from '../../src/revocations/revocation-view.js'

const NAMES = ['jti:token-1', 'grant_id:grant-1', 'sub:alice', 'client_id:printer']

function opened({ epoch = 'epoch', counter = 0 } = {}): RevocationView {
  const view = emptyView()
  receive(view, { event: 'opened', id: `${epoch}-${counter}`, data: '{"stream":"stream-1"}' })
  return view
}
const revoked = (view: RevocationView, number: number, members: object, epoch = 'epoch') =>
  receive(view, { event: 'revoked', id: `${epoch}-${number}`, data: JSON.stringify(members) })
const proof = (view: RevocationView, number: number, nonce: string, epoch = 'epoch') =>
  receive(view, { event: 'proof', id: `${epoch}-${number}`, data: JSON.stringify({ nonce }) })

describe('the lease', () => {
  test('nothing is proved before a nonce has come back', () => {
    const view = opened()
    sendNonce(view, 'n', 0)
    expect(isVerified(view, 0)).toBe(false)
  })

  test('it runs from the moment the nonce was sent, not from the moment it came back', () => {
    const view = opened()
    sendNonce(view, 'n', 1_000)
    proof(view, 0, 'n')
    expect(isVerified(view, 1_000 + LEASE_MS - 1)).toBe(true)
    expect(isVerified(view, 1_000 + LEASE_MS)).toBe(false)
  })

  test('an old nonce that comes late never shortens it', () => {
    const view = opened()
    sendNonce(view, 'old', 0)
    sendNonce(view, 'new', 1_500)
    proof(view, 0, 'new')
    proof(view, 0, 'old')
    expect(isVerified(view, 3_000)).toBe(true)
  })

  test.each([
    { name: 'that we did not send', nonce: 'foreign' },
    { name: 'that is no text', nonce: 7 as unknown as string }
  ])('a nonce $name proves nothing', ({ nonce }) => {
    const view = opened()
    sendNonce(view, 'n', 0)
    expect(proof(view, 0, nonce)).toBe(true)
    expect(isVerified(view, 1)).toBe(false)
  })

  test('a nonce proves once', () => {
    const view = opened()
    sendNonce(view, 'n', 0)
    proof(view, 0, 'n')
    view.verifiedUntil = 0
    proof(view, 0, 'n')
    expect(isVerified(view, 1)).toBe(false)
  })

  test('a nonce of the lost connection proves nothing on the next one', () => {
    const view = opened()
    sendNonce(view, 'n', 0)
    loseStream(view)
    receive(view, { event: 'opened', id: 'second-0', data: '{"stream":"stream-2"}' })
    proof(view, 0, 'n', 'second')
    expect(isVerified(view, 1)).toBe(false)
  })

  test('nonces that never come back do not pile up', () => {
    const view = opened()
    for (let sent = 0; sent < 1_000; sent++) sendNonce(view, `n${sent}`, sent)
    expect(view.nonces.size).toBeLessThan(10)
    proof(view, 0, 'n999')
    expect(isVerified(view, 1_000)).toBe(true)
  })
})

describe('what ends an answer', () => {
  test.each([
    { name: 'its token', members: { jti: 'token-1' } },
    { name: 'its grant', members: { grant_id: 'grant-1' } },
    { name: 'its user', members: { sub: 'alice' } },
    { name: 'its client', members: { client_id: 'printer' } },
    { name: 'something that this release has no word for', members: { tenant: 't' } }
  ])('an event that names $name', ({ members }) => {
    const view = opened()
    const mark = beginCall(view, 0)
    expect(stands(view, mark, NAMES)).toBe(true)
    revoked(view, 1, members)
    expect(stands(view, mark, NAMES)).toBe(false)
    expect(stands(view, beginCall(view, 0), NAMES)).toBe(true)
  })

  test.each([
    { name: 'another token', members: { jti: 'token-2' } },
    { name: 'a client of the name of the user', members: { client_id: 'alice' } }
  ])('but not an event that names $name', ({ members }) => {
    const view = opened()
    const mark = beginCall(view, 0)
    revoked(view, 1, members)
    expect(stands(view, mark, NAMES)).toBe(true)
  })

  test('the loss of the connection, and the opening of another', () => {
    const view = opened()
    const mark = beginCall(view, 0)
    loseStream(view)
    expect(stands(view, mark, NAMES)).toBe(false)
    const between = beginCall(view, 0)
    receive(view, { event: 'opened', id: 'epoch-0', data: '{"stream":"stream-2"}' })
    expect(stands(view, between, NAMES)).toBe(false)
  })

  test('a connection that broke leaves them while the lease runs, until the next one is opened', () => {
    const view = opened()
    sendNonce(view, 'n', 0)
    proof(view, 0, 'n')
    const mark = beginCall(view, 1)
    interrupt(view)
    expect([isVerified(view, LEASE_MS - 1), isVerified(view, LEASE_MS)]).toEqual([true, false])
    expect(stands(view, mark, NAMES)).toBe(true)
    receive(view, { event: 'opened', id: 'epoch-0', data: '{"stream":"stream-2"}' })
    expect(stands(view, mark, NAMES)).toBe(false)
  })

  test('more deaths than can be remembered end every answer from before the forgotten ones, and no other', () => {
    const view = opened()
    const early = beginCall(view, 0)
    for (let number = 1; number <= 20_000; number++) revoked(view, number, { jti: `other-${number}` })
    expect(stands(view, early, NAMES)).toBe(true)
    const late = beginCall(view, 0)
    revoked(view, 20_001, { jti: 'one more' })
    expect(stands(view, early, NAMES)).toBe(false)
    expect(stands(view, late, NAMES)).toBe(true)
    expect(view.deaths.size).toBe(20_000)
  })
})

describe('a connection is given up', () => {
  test.each([
    { name: 'a number is left out', act: (view: RevocationView) => revoked(view, 2, { jti: 'x' }) },
    { name: 'a number comes again', act: (view: RevocationView) => revoked(view, 0, { jti: 'x' }) },
    { name: 'another epoch begins', act: (view: RevocationView) => revoked(view, 1, { jti: 'x' }, 'other') },
    { name: 'a proof is ahead of what came', act: (view: RevocationView) => proof(view, 1, 'n') },
    { name: 'a proof is of another epoch', act: (view: RevocationView) => proof(view, 0, 'n', 'other') },
    {
      name: 'it is opened twice',
      act: (view: RevocationView) => receive(view, { event: 'opened', id: 'epoch-0', data: '{"stream":"s"}' })
    },
    {
      name: 'an id cannot be read',
      act: (view: RevocationView) => receive(view, { event: 'revoked', id: 'epoch', data: '{}' })
    },
    {
      name: 'the data are no JSON',
      act: (view: RevocationView) => receive(view, { event: 'revoked', id: 'epoch-1', data: '{' })
    },
    {
      name: 'the data are no object',
      act: (view: RevocationView) => receive(view, { event: 'revoked', id: 'epoch-1', data: '7' })
    }
  ])('$name', ({ act }) => {
    expect(act(opened())).toBe(false)
  })

  test('an event comes before the opening', () => {
    expect(revoked(emptyView(), 1, { jti: 'x' })).toBe(false)
  })

  test('an opening without a stream', () => {
    expect(receive(emptyView(), { event: 'opened', id: 'epoch-0', data: '{}' })).toBe(false)
  })
})

test('it may join in the middle, and an epoch may hold hyphens', () => {
  const view = opened({ epoch: 'a-b-c', counter: 41 })
  expect(revoked(view, 42, { jti: 'x' }, 'a-b-c')).toBe(true)
})

test('an event of a kind that is not known is passed over, if its number fits', () => {
  const view = opened()
  expect(receive(view, { event: 'weather', id: 'epoch-0', data: '{}' })).toBe(true)
  expect(receive(view, { event: 'weather', id: 'epoch-1', data: '{}' })).toBe(false)
})

test('without a feed an answer stands as long as it is kept', () => {
  const view = viewWithoutFeed()
  expect(isVerified(view, Number.MAX_SAFE_INTEGER)).toBe(true)
  expect(stands(view, beginCall(view, 0), NAMES)).toBe(true)
})
