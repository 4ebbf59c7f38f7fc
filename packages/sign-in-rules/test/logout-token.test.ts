import { describe, expect, test } from '@jest/globals'
import { evaluateLogoutToken, readSessionId } from '../src/logout-token.js'

const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
const valid = { iss: 'https://id.example', jti: 'one', iat: 1_000, exp: 1_120, events, sub: 'person', sid: 'session' }
const { sid: _sid, ...onlySub } = valid
const { sub: _sub, ...onlySid } = valid

test.each([
  { sid: 'session', read: 'session' },
  { sid: 'a'.repeat(255), read: 'a'.repeat(255) },
  { sid: 'a'.repeat(256), read: undefined },
  { sid: '', read: undefined },
  { sid: 7, read: undefined }
])('a session id is kept only if a logout token may name it', ({ sid, read }) => {
  expect(readSessionId({ sid })).toBe(read)
})

describe('logout token (Back-Channel Logout 1.0 §2.6)', () => {
  const accepted = { kind: 'accepted', jti: 'one', issuedAt: 1_000, expiresAt: 1_120 }

  test.each([
    { name: 'sub and sid', claims: valid, ends: { sid: 'session' } },
    { name: 'only sid', claims: onlySid, ends: { sid: 'session' } },
    { name: 'only sub', claims: onlySub, ends: { subject: 'person' } }
  ])('with $name ends $ends', ({ claims, ends }) => {
    expect(evaluateLogoutToken('logout+jwt', claims)).toEqual({ ...accepted, ends })
  })

  test.each([undefined, 'logout+jwt', 'LOGOUT+JWT', 'application/logout+jwt'])('with typ %p is accepted', (typ) => {
    expect(evaluateLogoutToken(typ, valid)).toMatchObject({ kind: 'accepted' })
  })

  test.each(['JWT', 'at+jwt', '', 7])('with typ %p is refused', (typ) => {
    expect(evaluateLogoutToken(typ, valid)).toEqual({ kind: 'refused', reason: 'wrong_typ' })
  })

  test.each([
    { name: 'a nonce', change: { nonce: 'n' }, reason: 'nonce_present' },
    { name: 'a nonce that is null', change: { nonce: null }, reason: 'nonce_present' },
    { name: 'no events', change: { events: undefined }, reason: 'wrong_events' },
    { name: 'another event', change: { events: { 'https://example.com/event': {} } }, reason: 'wrong_events' },
    {
      name: 'an event that is no object',
      change: { events: { [Object.keys(events)[0] ?? '']: true } },
      reason: 'wrong_events'
    },
    { name: 'events in an array', change: { events: [events] }, reason: 'wrong_events' },
    { name: 'an empty jti', change: { jti: '' }, reason: 'wrong_jti' },
    { name: 'a long jti', change: { jti: 'j'.repeat(256) }, reason: 'wrong_jti' },
    { name: 'iat as text', change: { iat: '1000' }, reason: 'wrong_time' },
    { name: 'neither sub nor sid', change: { sub: undefined, sid: undefined }, reason: 'no_sub_or_sid' },
    { name: 'an empty sid beside sub', change: { sid: '' }, reason: 'no_sub_or_sid' }
  ])('with $name is refused', ({ change, reason }) => {
    expect(evaluateLogoutToken('logout+jwt', { ...valid, ...change })).toEqual({ kind: 'refused', reason })
  })
})
