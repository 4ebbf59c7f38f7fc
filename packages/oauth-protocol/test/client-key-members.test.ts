import { describe, expect, test } from '@jest/globals'
import { readClientKeys } from '../src/client-key-members.js'
import { createKey } from './signed/proof-fixture.js'

const { jwk } = await createKey('ES256')
const JWKS = { keys: [{ ...jwk, kid: 'a' }] }
const LIST = 'token_endpoint_auth_methods_supported'
const SINGLE = 'token_endpoint_auth_method'
const KEY = 'private_key_jwt'

describe('the methods of a document (RFC 7591 §2, OpenID Connect RP Metadata Choices 1.0)', () => {
  test.each([
    ['no member', {}, undefined],
    ['none', { [SINGLE]: 'none' }, undefined],
    ['the key alone', { [SINGLE]: KEY }, 'required'],
    ['a list of the key alone', { [LIST]: [KEY] }, 'required'],
    ['a list of both', { [LIST]: [KEY, 'none'] }, 'allowed'],
    ['a list of none', { [LIST]: ['none'] }, undefined],
    ['a list before the single method none', { [LIST]: [KEY], [SINGLE]: 'none' }, 'required'],
    ['a list of both before the single method', { [LIST]: ['none', KEY], [SINGLE]: KEY }, 'allowed'],
    ['a list of none before the single method', { [LIST]: ['none'], [SINGLE]: KEY }, undefined],
    ['a list with unknown entries', { [LIST]: ['tls_client_auth', KEY, 7, null] }, 'required'],
    ['a text instead of a list', { [LIST]: KEY, [SINGLE]: 'none' }, undefined],
    ['null instead of a list', { [LIST]: null, [SINGLE]: KEY }, 'required']
  ] as const)('%s: %s gives private_key_jwt %s', (_what, members, privateKeyJwt) => {
    const read = readClientKeys({ ...members, jwks: JWKS })
    expect(read).toMatchObject({ kind: 'valid', skipped: [] })
    expect(read.kind === 'valid' && read.keys?.privateKeyJwt).toBe(privateKeyJwt)
  })

  test.each([
    [SINGLE, 'an unknown method', { [SINGLE]: 'client_secret_basic' }],
    [SINGLE, 'null', { [SINGLE]: null }],
    [SINGLE, 'a list', { [SINGLE]: ['none'] }],
    [LIST, 'an empty list', { [LIST]: [], [SINGLE]: 'none' }],
    [LIST, 'a list of unknown methods', { [LIST]: ['client_secret_post', 'None'], [SINGLE]: KEY }]
  ] as const)('%s with %s is refused by its name', (member, _what, members) => {
    expect(readClientKeys({ ...members, jwks: JWKS })).toMatchObject({ kind: 'invalid', member })
  })
})

describe('the keys of a document with private_key_jwt (RFC 7591 §2)', () => {
  const members = { [SINGLE]: KEY }

  test('jwks has the keys; unusable ones are skipped with their place', () => {
    expect(readClientKeys({ ...members, jwks: { keys: [{ kty: 'oct' }, ...JWKS.keys] } })).toEqual({
      kind: 'valid',
      keys: {
        privateKeyJwt: 'required',
        algorithm: undefined,
        jwksUri: undefined,
        keys: [expect.objectContaining({ kid: 'a' })]
      },
      skipped: [{ place: 'jwks.keys[0]', reason: 'must have the kty EC, OKP or RSA' }]
    })
  })

  test('jwks_uri is the address of the keys', () => {
    const jwksUri = 'https://app.example/keys'
    expect(readClientKeys({ ...members, jwks_uri: jwksUri })).toEqual({
      kind: 'valid',
      keys: { privateKeyJwt: 'required', algorithm: undefined, jwksUri, keys: [] },
      skipped: []
    })
  })

  test.each(['ES256', 'PS256', 'RS256', 'EdDSA', 'Ed25519'])('the algorithm %s is the only one', (algorithm) => {
    const read = readClientKeys({ ...members, jwks: JWKS, token_endpoint_auth_signing_alg: algorithm })
    expect(read).toMatchObject({ kind: 'valid', keys: { algorithm } })
  })

  test.each([
    ['jwks_uri', 'no keys', {}],
    ['jwks_uri', 'both', { jwks: JWKS, jwks_uri: 'https://app.example/keys' }],
    ['jwks_uri', 'an address that is not https', { jwks_uri: 'http://app.example/keys' }],
    ['jwks', 'no usable key', { jwks: { keys: [] } }],
    ['jwks', 'null', { jwks: null }],
    ['token_endpoint_auth_signing_alg', 'no signature', { jwks: JWKS, token_endpoint_auth_signing_alg: 'none' }],
    ['token_endpoint_auth_signing_alg', 'a shared secret', { jwks: JWKS, token_endpoint_auth_signing_alg: 'HS256' }]
  ])('%s is refused with %s', (member, _what, change) => {
    expect(readClientKeys({ ...members, ...change })).toMatchObject({ kind: 'invalid', member })
  })

  test('what a public client says about keys is ignored', () => {
    const ignored = { jwks: 7, jwks_uri: 'x', token_endpoint_auth_signing_alg: 'x' }
    expect(readClientKeys(ignored)).toEqual({ kind: 'valid', keys: undefined, skipped: [] })
  })
})
