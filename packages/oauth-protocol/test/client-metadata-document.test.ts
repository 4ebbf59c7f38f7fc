import { describe, expect, test } from '@jest/globals'
import { readClientMetadata } from '../src/client-metadata-document.js'

const CLIENT_ID = 'https://app.example/client.json'
const VALID = { client_id: CLIENT_ID, client_name: 'Paper Boat', redirect_uris: ['https://app.example/callback'] }

function read(change: Record<string, unknown>) {
  return readClientMetadata(JSON.stringify({ ...VALID, ...change }), CLIENT_ID)
}

describe('client id metadata document (draft-ietf-oauth-client-id-metadata-document-02 §4)', () => {
  test('has name and redirect URIs, and all other members are ignored', () => {
    const change = {
      scope: 'files.read',
      logo_uri: 'https://app.example/logo',
      jwks_uri: 'https://app.example/keys',
      x: 1
    }
    expect(read(change)).toEqual({
      kind: 'valid',
      metadata: { name: 'Paper Boat', redirectUris: ['https://app.example/callback'] },
      skipped: []
    })
  })

  test.each([
    ['method none', { token_endpoint_auth_method: 'none' }],
    ['more grant types', { grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'] }],
    ['more response types', { response_types: ['code', 'token'] }],
    ['redirect URIs of another origin', { redirect_uris: ['http://127.0.0.1/cb', 'com.example.app:/cb'] }],
    ['public keys', { jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }] } }],
    ['a right-to-left name', { client_name: 'قارب ورقي' }],
    ['a name with marks of its language', { client_name: 'Thuyền giấy ลำน้ำ' }],
    ['a name of 100 characters', { client_name: 'x'.repeat(100) }],
    ['20 redirect URIs', { redirect_uris: uris(20) }],
    ['a member __proto__', { ['__proto__']: { client_secret: 'x' } }]
  ])('is accepted: %s', (_what, change) => {
    expect(read(change).kind).toBe('valid')
  })

  test('has the keys of a client that authenticates with them', () => {
    const jwksUri = 'https://app.example/keys'
    const change = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: jwksUri }
    expect(read(change)).toMatchObject({ kind: 'valid', metadata: { keys: { privateKeyJwt: 'required', jwksUri } } })
  })

  test.each([
    { value: true, dpopBound: true },
    { value: false, dpopBound: undefined },
    { value: undefined, dpopBound: undefined }
  ])('with dpop_bound_access_tokens $value must prove a key: $dpopBound (RFC 9449 §5.2)', ({ value, dpopBound }) => {
    const outcome = read({ dpop_bound_access_tokens: value })
    expect(outcome.kind === 'valid' && outcome.metadata.dpopBound).toBe(dpopBound)
  })

  test('has a trimmed name and each redirect URI once', () => {
    const repeated = ['https://app.example/callback', 'https://app.example/callback']
    expect(read({ client_name: ' Paper Boat\n', redirect_uris: repeated })).toEqual({
      kind: 'valid',
      metadata: { name: 'Paper Boat', redirectUris: ['https://app.example/callback'] },
      skipped: []
    })
  })

  test.each([
    ['client_id', 'another client id', { client_id: 'https://app.example/other.json' }],
    ['client_id', 'no client id', { client_id: undefined }],
    ['client_id', 'a client id that differs in a slash', { client_id: `${CLIENT_ID}/` }],
    ['client_secret', 'a secret', { client_secret: 'secret' }],
    ['client_secret', 'a secret of null', { client_secret: null }],
    ['client_secret_expires_at', 'the end of a secret', { client_secret_expires_at: 0 }],
    ['jwks', 'a private EC key', { jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', d: 'd' }] } }],
    ['jwks', 'a private RSA key', { jwks: { keys: [{ kty: 'RSA' }, { kty: 'RSA', n: 'n', e: 'e', p: 'p' }] } }],
    ['jwks', 'a symmetric key', { jwks: { keys: [{ kty: 'oct', k: 'k' }] } }],
    ['jwks_uri', 'private_key_jwt without keys', { token_endpoint_auth_method: 'private_key_jwt' }],
    [
      'token_endpoint_auth_methods_supported',
      'methods for secrets only',
      { token_endpoint_auth_methods_supported: ['client_secret_basic'] }
    ],
    ['token_endpoint_auth_method', 'a method for secrets', { token_endpoint_auth_method: 'client_secret_basic' }],
    ['client_name', 'no name', { client_name: undefined }],
    ['client_name', 'a name that is no text', { client_name: { en: 'Paper Boat' } }],
    ['client_name', 'an invisible name', { client_name: '\u200b\u3164' }],
    ['client_name', 'a name of Braille without dots', { client_name: '\u2800' }],
    ['client_name', 'a name of combining marks', { client_name: '\u0301\u0489' }],
    ['client_name', 'many marks on one letter', { client_name: `A${'\u0338\u0489'.repeat(49)}` }],
    ['client_name', 'many marks with joiners between them', { client_name: `A${'\u0489\u200d'.repeat(5)}` }],
    ['client_name', 'a name of 101 characters', { client_name: 'x'.repeat(101) }],
    ['client_name', 'a right-to-left override', { client_name: 'Paper\u202eBoat' }],
    ['client_name', 'a right-to-left isolate', { client_name: '\u2067Paper Boat' }],
    ['client_name', 'a right-to-left mark', { client_name: 'Paper\u200fBoat' }],
    ['client_name', 'a control character', { client_name: 'Paper\u0007Boat' }],
    ['client_name', 'a line separator', { client_name: 'Paper\u2028Boat' }],
    ['redirect_uris', 'no redirect URIs', { redirect_uris: undefined }],
    ['redirect_uris', 'an empty list', { redirect_uris: [] }],
    ['redirect_uris', 'a text instead of a list', { redirect_uris: 'https://app.example/callback' }],
    ['redirect_uris', 'a thousand redirect URIs', { redirect_uris: uris(1_000) }],
    ['redirect_uris', '21 redirect URIs', { redirect_uris: uris(21) }],
    ['redirect_uris', 'a script', { redirect_uris: ['javascript:alert(1)'] }],
    ['redirect_uris', 'http', { redirect_uris: ['http://app.example/callback'] }],
    ['redirect_uris', 'a number', { redirect_uris: [7] }],
    ['redirect_uris', 'a private scheme without a dot', { redirect_uris: ['cursor://app/callback'] }],
    ['grant_types', 'other grant types only', { grant_types: ['client_credentials'] }],
    ['grant_types', 'a text', { grant_types: 'authorization_code' }],
    ['response_types', 'other response types only', { response_types: ['token'] }],
    ['dpop_bound_access_tokens', 'a text', { dpop_bound_access_tokens: 'true' }],
    ['dpop_bound_access_tokens', 'null', { dpop_bound_access_tokens: null }]
  ])('is refused with %s for %s', (member, _what, change) => {
    const outcome = read(change)
    expect(outcome).toMatchObject({ kind: 'invalid', member })
    expect((outcome as { problem: string }).problem).toMatch(new RegExp(`^${member} .{5,280}\\.$`))
  })

  test('is refused with the places of the redirect URIs, if none can be used', () => {
    expect(read({ redirect_uris: ['https://app.example/#x', 7] })).toMatchObject({
      member: 'redirect_uris',
      problem:
        'redirect_uris has an invalid URI at index 0: it must not have a fragment (RFC 6749 §3.1.2); at index 1: it must be a string.'
    })
  })

  test.each([
    ['cursor://app/callback', /^must be https, http on/],
    ['http://app.example/callback', /^must be https, http on/],
    ['https://*.app.example/callback', /wildcards/],
    ['urn:ietf:wg:oauth:2.0:oob', /^must be https/],
    ['https://b\u00fccher.example/cb', /xn--bcher-kva/],
    ['', /ASCII/],
    [7, /^must be a string$/],
    [null, /^must be a string$/],
    [['https://app.example/list'], /^must be a string$/]
  ])('is used without the redirect URI %j, which is skipped with its reason', (uri, reason) => {
    const others = ['https://app.example/callback', 'http://127.0.0.1/cb']
    expect(read({ redirect_uris: [others[0], uri, others[1]] })).toEqual({
      kind: 'valid',
      metadata: { name: 'Paper Boat', redirectUris: others },
      skipped: [{ place: 'redirect_uris[1]', reason: expect.stringMatching(reason) }]
    })
  })

  test('may have more redirect URIs that cannot be used', () => {
    const unusable = Array.from({ length: 10 }, (_, index) => `app${index}://cb`)
    expect(read({ redirect_uris: [...unusable, ...uris(20)] })).toMatchObject({
      kind: 'valid',
      skipped: { length: 10 }
    })
    expect(read({ redirect_uris: [...unusable, ...uris(21)] }).kind).toBe('invalid')
  })

  test.each(['', 'null', '[]', '"text"', '{', '<html>', '{"client_id":1'])(
    'is refused: %j is no JSON object',
    (text) => {
      expect(readClientMetadata(text, CLIENT_ID)).toMatchObject({ kind: 'invalid', member: 'document' })
    }
  )
})

function uris(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `https://app.example/${index}`)
}
