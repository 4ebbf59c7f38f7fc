import { describe, expect, test } from '@jest/globals'
import { parseParameters } from '../../src/parameters.js'
import {
  type AssertionClient,
  type AssertionRefusal,
  CLIENT_ASSERTION_TYPE,
  type ClientAssertion,
  candidateKeys,
  checkClientAssertion,
  readClientAssertion
} from '../../src/signed/client-assertion.js'
import type { PublicKey, SignatureAlgorithm } from '../../src/signed/public-key.js'

const NOW = 1_800_000_000
const ISSUER = 'https://auth.example'
const EXPECTED = { issuer: ISSUER, tokenEndpoint: `${ISSUER}/token`, now: new Date(NOW * 1_000) }
const CLIENT = 'client-1'
const WITH_KEY: AssertionClient = { privateKeyJwt: 'required' }

type Members = Record<string, unknown>

const HEADER: Members = { alg: 'ES256', kid: 'one' }
const PAYLOAD: Members = { iss: CLIENT, sub: CLIENT, aud: ISSUER, exp: NOW + 60, iat: NOW, jti: 'a' }

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const jws = (header: unknown, payload: unknown) => `${encode(header)}.${encode(payload)}.AAAA`

type Change = { header?: Members; payload?: Members; form?: Record<string, string>; query?: string }

function read({ header, payload, form, query = '' }: Change = {}, authorization: readonly string[] = []) {
  const parameters = new URLSearchParams({
    client_assertion_type: CLIENT_ASSERTION_TYPE,
    client_assertion: jws({ ...HEADER, ...header }, { ...PAYLOAD, ...payload }),
    ...form
  })
  return readClientAssertion(parseParameters(`${parameters}${query}`), authorization)
}

function check(change: Change = {}, client: AssertionClient | undefined = WITH_KEY, now = NOW) {
  const found = read(change)
  if (found.kind !== 'assertion') throw new Error(JSON.stringify(found))
  return checkClientAssertion(found.assertion, client, { ...EXPECTED, now: new Date(now * 1_000) })
}

describe('a client assertion that is accepted (RFC 7523 §3)', () => {
  test('names its client, algorithm and key, also without client_id in the form', () => {
    const assertion = { clientId: CLIENT, algorithm: 'ES256', keyId: 'one' }
    expect(read()).toMatchObject({ kind: 'assertion', assertion })
    expect(read({ form: { client_id: CLIENT } })).toMatchObject({ kind: 'assertion', assertion })
  })

  test('has a jti that is remembered until no clock accepts the assertion', () => {
    expect(check()).toEqual({ kind: 'valid', jti: 'a', usableForMs: 90_000, audience: 'issuer' })
  })

  test.each<Change & { name: string }>([
    { name: 'the issuer as the only member of aud', payload: { aud: [ISSUER] } },
    { name: 'an exp with a fraction', payload: { exp: NOW + 0.5 } },
    { name: 'an exp that passed 29 s ago', payload: { exp: NOW - 29 } },
    { name: 'the longest life, by a clock that is ahead', payload: { exp: NOW + 3_630 } },
    { name: 'iat and nbf 30 s ahead', payload: { iat: NOW + 30, nbf: NOW + 30 } },
    { name: 'no iat', payload: { iat: undefined } },
    { name: 'a jti of 256 characters', payload: { jti: 'x'.repeat(256) } },
    { name: 'the typ of RFC 7519', header: { typ: 'jwt' } },
    { name: 'the typ of client assertions', header: { typ: 'Client-Authentication+JWT' } },
    { name: 'the typ with its media type', header: { typ: 'application/client-authentication+jwt' } },
    { name: 'a key in the header, which is not read', header: { jwk: { kty: 'EC' }, jku: 'https://evil.example' } },
    { name: 'no kid', header: { kid: undefined } }
  ])('may have $name', (change) => {
    expect(check(change)).toMatchObject({ kind: 'valid' })
  })

  test('may come from a client that also works without a key', () => {
    expect(check({}, { privateKeyJwt: 'allowed' })).toMatchObject({ kind: 'valid' })
  })
})

describe('a request with an assertion is invalid_request (rule 1)', () => {
  test.each<Change & { name: string; authorization?: string[]; description: string }>([
    { name: 'another type', form: { client_assertion_type: 'x' }, description: 'client_assertion_type must be' },
    { name: 'no type', form: { client_assertion_type: '' }, description: 'client_assertion_type must be' },
    { name: 'no assertion', form: { client_assertion: '' }, description: 'client_assertion is missing' },
    { name: 'two assertions', query: '&client_assertion=x', description: 'client_assertion is repeated' },
    { name: 'two types', query: '&client_assertion_type=x', description: 'client_assertion_type is repeated' },
    { name: 'two client ids', query: '&client_id=x&client_id=x', description: 'client_id is repeated' },
    {
      name: 'a client id that is no UTF-8',
      query: '&client_id=%ff',
      description: 'client_id is repeated or malformed'
    },
    { name: 'a secret', form: { client_secret: 'x' }, description: 'Two methods' },
    { name: 'Basic', authorization: ['Basic YTpi'], description: 'Two methods' }
  ])('with $name', ({ authorization, description, ...change }) => {
    expect(read(change, authorization)).toEqual({
      kind: 'unreadable',
      description: expect.stringContaining(description)
    })
  })
})

describe('an assertion is refused before its client is known (rules 2 to 4)', () => {
  test.each<Change & { name: string; reason: AssertionRefusal }>([
    { name: 'text that is no JWS', form: { client_assertion: 'a.b' }, reason: 'assertion_malformed' },
    { name: 'more than 4,096 characters', payload: { x: 'x'.repeat(3_000) }, reason: 'assertion_malformed' },
    { name: 'a payload that is no object', form: { client_assertion: jws(HEADER, []) }, reason: 'assertion_malformed' },
    { name: 'a kid that is no text', header: { kid: 1 }, reason: 'assertion_malformed' },
    { name: 'alg none', header: { alg: 'none' }, reason: 'assertion_algorithm' },
    { name: 'a MAC', header: { alg: 'HS256' }, reason: 'assertion_algorithm' },
    { name: 'another curve', header: { alg: 'ES384' }, reason: 'assertion_algorithm' },
    { name: 'no alg', header: { alg: undefined }, reason: 'assertion_algorithm' },
    { name: 'crit', header: { crit: [] }, reason: 'assertion_critical_header' },
    { name: 'the typ of a DPoP proof', header: { typ: 'dpop+jwt' }, reason: 'assertion_typ' },
    { name: 'the typ of an access token', header: { typ: 'at+jwt' }, reason: 'assertion_typ' },
    { name: 'a typ that begins right', header: { typ: 'JWTs' }, reason: 'assertion_typ' },
    { name: 'an empty typ', header: { typ: '' }, reason: 'assertion_typ' },
    { name: 'no iss', payload: { iss: undefined }, reason: 'assertion_issuer' },
    { name: 'an iss that is no client id', payload: { iss: 'a b', sub: 'a b' }, reason: 'assertion_issuer' },
    { name: 'another sub', payload: { sub: 'client-2' }, reason: 'assertion_subject' },
    { name: 'no sub', payload: { sub: undefined }, reason: 'assertion_subject' },
    { name: 'another client_id in the form', form: { client_id: 'client-2' }, reason: 'assertion_other_client' }
  ])('for $name', ({ reason, ...change }) => {
    expect(read(change)).toEqual({ kind: 'refused', reason })
  })
})

describe('an assertion is refused for what it claims (rules 5 to 9)', () => {
  const TOKEN_ENDPOINT = `${ISSUER}/token`

  test.each<Change & { name: string; client?: AssertionClient; reason: AssertionRefusal }>([
    { name: 'a client without a key', client: {}, reason: 'wrong_authentication_method' },
    {
      name: 'another algorithm than the client’s',
      client: { ...WITH_KEY, assertionAlgorithm: 'PS256' },
      reason: 'assertion_algorithm'
    },
    { name: 'no aud', payload: { aud: undefined }, reason: 'assertion_audience' },
    { name: 'another aud', payload: { aud: `${ISSUER}/` }, reason: 'assertion_audience' },
    { name: 'the token endpoint as aud', payload: { aud: TOKEN_ENDPOINT }, reason: 'assertion_audience' },
    { name: 'a second member of aud', payload: { aud: [ISSUER, 'https://x.example'] }, reason: 'assertion_audience' },
    { name: 'the issuer twice', payload: { aud: [ISSUER, ISSUER] }, reason: 'assertion_audience' },
    { name: 'an empty aud', payload: { aud: [] }, reason: 'assertion_audience' },
    { name: 'aud in two arrays', payload: { aud: [[ISSUER]] }, reason: 'assertion_audience' },
    {
      name: 'the token endpoint as aud with typ, also from a client with a document',
      client: { ...WITH_KEY, isDiscovered: true },
      header: { typ: 'JWT' },
      payload: { aud: TOKEN_ENDPOINT },
      reason: 'assertion_audience'
    },
    { name: 'no exp', payload: { exp: undefined }, reason: 'assertion_expired' },
    { name: 'an exp that is a text', payload: { exp: `${NOW + 60}` }, reason: 'assertion_expired' },
    { name: 'an exp that passed 30 s ago', payload: { exp: NOW - 30 }, reason: 'assertion_expired' },
    { name: 'a life above an hour', payload: { exp: NOW + 3_631 }, reason: 'assertion_lives_too_long' },
    { name: 'an endless life', payload: { exp: 1e300 }, reason: 'assertion_lives_too_long' },
    { name: 'iat 31 s ahead', payload: { iat: NOW + 31 }, reason: 'assertion_not_yet_valid' },
    { name: 'an iat that is a text', payload: { iat: `${NOW}` }, reason: 'assertion_not_yet_valid' },
    { name: 'nbf 31 s ahead', payload: { nbf: NOW + 31 }, reason: 'assertion_not_yet_valid' },
    { name: 'an nbf that is null', payload: { nbf: null }, reason: 'assertion_not_yet_valid' },
    { name: 'no jti', payload: { jti: undefined }, reason: 'assertion_jti' },
    { name: 'an empty jti', payload: { jti: '' }, reason: 'assertion_jti' },
    { name: 'a jti that is a number', payload: { jti: 1 }, reason: 'assertion_jti' },
    { name: 'a jti of 257 characters', payload: { jti: 'x'.repeat(257) }, reason: 'assertion_jti' }
  ])('for $name', ({ client = WITH_KEY, reason, ...change }) => {
    expect(check(change, client)).toEqual({ kind: 'refused', reason })
  })

  test('for a client that does not exist', () => {
    const found = read()
    if (found.kind !== 'assertion') throw new Error('not read')
    const reason = 'unknown_client'
    expect(checkClientAssertion(found.assertion, undefined, EXPECTED)).toEqual({ kind: 'refused', reason })
  })

  test('not for the token endpoint as aud without typ, if a document describes the client', () => {
    const client = { ...WITH_KEY, isDiscovered: true }
    const audience = 'token_endpoint'
    expect(check({ payload: { aud: TOKEN_ENDPOINT } }, client)).toMatchObject({ kind: 'valid', audience })
    expect(check({ payload: { aud: [TOKEN_ENDPOINT] } }, client)).toMatchObject({ kind: 'valid', audience })
  })
})

describe('the keys that may have signed (rule 10)', () => {
  const key = (kid: string | undefined, ...algorithms: SignatureAlgorithm[]): PublicKey => ({
    jwk: {},
    kid,
    thumbprint: `${kid}`,
    algorithms
  })
  const signed = (algorithm: SignatureAlgorithm, keyId?: string): Pick<ClientAssertion, 'algorithm' | 'keyId'> => ({
    algorithm,
    keyId
  })
  const keys = [key('one', 'ES256'), key('two', 'ES256'), key('rsa', 'PS256', 'RS256')]

  test('are the one with the kid', () => {
    expect(candidateKeys(signed('ES256', 'two'), keys)).toEqual([keys[1]])
  })

  test('are none if the key with the kid is for another algorithm, or no key has the kid', () => {
    expect(candidateKeys(signed('ES256', 'rsa'), keys)).toEqual([])
    expect(candidateKeys(signed('ES256', 'three'), keys)).toEqual([])
  })

  test('are those of the algorithm without a kid, four at most', () => {
    expect(candidateKeys(signed('RS256'), keys)).toEqual([keys[2]])
    const many = Array.from({ length: 6 }, (_, index) => key(`${index}`, 'ES256'))
    expect(candidateKeys(signed('ES256'), many)).toEqual(many.slice(0, 4))
  })
})
