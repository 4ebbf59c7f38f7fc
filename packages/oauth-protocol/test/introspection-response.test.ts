import { expect, test } from '@jest/globals'
import { type ActiveAccessToken, introspectionResponse } from '../src/introspection-response.js'

const TOKEN: ActiveAccessToken = {
  tokenId: 'token-1',
  grantId: 'grant-1',
  clientId: 'app',
  userId: 'user-1',
  scope: ['files.read', 'files.write'],
  audience: 'https://files.example',
  issuedAt: new Date('2026-10-31T17:02:11.999Z'),
  expiresAt: new Date('2026-10-31T18:02:11.999Z')
}
const CALLER = { audience: 'https://files.example', issuer: 'https://auth.example' }

test("introspection: an active token of the caller's audience has exactly the documented members (RFC 7662 §2.2)", () => {
  expect(introspectionResponse(TOKEN, CALLER)).toStrictEqual({
    active: true,
    scope: 'files.read files.write',
    client_id: 'app',
    sub: 'user-1',
    iss: 'https://auth.example',
    aud: 'https://files.example',
    iat: 1793466131,
    exp: 1793469731,
    jti: 'token-1',
    token_type: 'Bearer',
    grant_id: 'grant-1'
  })
})

test.each([
  { name: 'no live token', token: undefined, audience: CALLER.audience },
  { name: 'a token of another audience', token: TOKEN, audience: 'https://photos.example' },
  { name: 'an audience with a slash more', token: TOKEN, audience: 'https://files.example/' },
  { name: 'an audience in other case', token: TOKEN, audience: 'https://Files.example' },
  { name: 'an audience that begins so', token: TOKEN, audience: 'https://files.example.evil.example' },
  { name: 'a part of the audience', token: TOKEN, audience: 'https://files' },
  { name: 'an empty audience', token: TOKEN, audience: '' }
])('introspection: $name is exactly {"active":false} (RFC 7662 §2.2, §4)', ({ token, audience }) => {
  expect(JSON.stringify(introspectionResponse(token, { ...CALLER, audience }))).toBe('{"active":false}')
})

test('introspection: times are whole seconds, rounded down (RFC 7662 §2.2)', () => {
  const answer = introspectionResponse({ ...TOKEN, issuedAt: new Date(1), expiresAt: new Date(1999) }, CALLER)
  expect(answer).toMatchObject({ iat: 0, exp: 1 })
})

test('introspection: what the user chose has type and identifier, and not the summary (RFC 9396 §9.2)', () => {
  const detail = { type: 'files', identifier: 'sel_1', summary: '12 photos' }
  const answer = introspectionResponse({ ...TOKEN, authorizationDetails: [detail] }, CALLER)
  expect(answer).toMatchObject({ authorization_details: [{ type: 'files', identifier: 'sel_1' }] })
  expect(JSON.stringify(answer)).not.toContain('photos')
  expect(introspectionResponse(TOKEN, CALLER)).not.toHaveProperty('authorization_details')
})

test('introspection: auth_time is the time of the sign-in in whole seconds, if it is known (RFC 9470 §6.2)', () => {
  const authenticatedAt = new Date('2026-10-31T17:00:00.999Z')
  expect(introspectionResponse({ ...TOKEN, authenticatedAt }, CALLER)).toMatchObject({ auth_time: 1793466000 })
  expect(introspectionResponse(TOKEN, CALLER)).not.toHaveProperty('auth_time')
})
