import { json } from '../fake-introspection-endpoint.js'
import { ACCEPTED, type Case, type Expected, INVALID, live } from './cases.js'

const NOT_RECENT: Expected = {
  status: 401,
  error: 'insufficient_user_authentication',
  scope: 'reports.write',
  maxAge: 300,
  calls: 1
}

const signedInAgo = (seconds: number, change: object = {}) =>
  json({ ...live, scope: 'reports.write', auth_time: Math.floor(Date.now() / 1000) - seconds, ...change })

/** Only for the adapters: a route that requires reports.write, and a sign-in within 300 seconds (RFC 9470). */
export const RECENT_CASES: readonly Case[] = [
  { name: 'a recent sign-in', answer: signedInAgo(10), expected: ACCEPTED },
  { name: 'a sign-in before max_age', answer: signedInAgo(400), expected: NOT_RECENT },
  { name: 'a token without auth_time', answer: signedInAgo(10, { auth_time: undefined }), expected: NOT_RECENT },
  { name: 'auth_time as text', answer: signedInAgo(10, { auth_time: '9999999999' }), expected: NOT_RECENT },
  { name: 'auth_time beyond all dates', answer: signedInAgo(10, { auth_time: 1e300 }), expected: NOT_RECENT },
  {
    name: 'a sign-in before max_age, without the scope',
    answer: signedInAgo(400, { scope: '' }),
    expected: NOT_RECENT
  },
  {
    name: 'a recent sign-in, without the scope',
    answer: signedInAgo(10, { scope: '' }),
    expected: { status: 403, error: 'insufficient_scope', scope: 'reports.write', calls: 1 }
  },
  {
    name: 'a sign-in before max_age, and an expired token',
    answer: signedInAgo(400, { exp: live.exp - 7200 }),
    expected: { ...INVALID, scope: 'reports.write' }
  }
].map((each) => ({ ...each, request: { target: '/recent' } }))
