import { expect, test } from '@jest/globals'
import { type ProfiledClient, pointsMissingForFapi2 } from '../src/fapi2-profile.js'

const FITTING: ProfiledClient = {
  type: 'confidential',
  privateKeyJwt: 'required',
  requiresPkce: true,
  requiresPushedRequests: true,
  dpopBound: true,
  keepsRefreshTokens: true,
  keyAlgorithms: ['ES256', 'PS256', 'EdDSA', undefined]
}

test('a client that fits lacks nothing for fapi2', () => {
  expect(pointsMissingForFapi2(FITTING)).toEqual([])
})

test.each<{ change: Partial<ProfiledClient>; point: RegExp }>([
  { change: { type: 'public' }, point: /^type / },
  { change: { privateKeyJwt: undefined }, point: /^auth_method / },
  { change: { privateKeyJwt: 'allowed' }, point: /^auth_method / },
  { change: { keyAlgorithms: ['ES256', 'RS256'] }, point: /RS256/ },
  { change: { requiresPkce: false }, point: /^require_pkce / },
  { change: { requiresPushedRequests: undefined }, point: /^require_par / },
  { change: { dpopBound: false }, point: /^dpop_bound_access_tokens / },
  { change: { keepsRefreshTokens: undefined }, point: /^refresh_rotation / }
])('a client with $change lacks one point for fapi2 (FAPI 2.0 Security Profile §5.3.2, §5.4)', ({ change, point }) => {
  expect(pointsMissingForFapi2({ ...FITTING, ...change })).toEqual([expect.stringMatching(point)])
})

test('a new client lacks every point except its type, each with its setting', () => {
  const plain: ProfiledClient = { type: 'public', requiresPkce: false, keyAlgorithms: ['RS256'] }
  expect(pointsMissingForFapi2(plain)).toHaveLength(7)
})
