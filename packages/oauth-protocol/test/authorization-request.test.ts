import { describe, expect, test } from '@jest/globals'
import { type AuthorizationOptions, validateAuthorizationRequest } from '../src/authorization-request.js'
import type { Client } from '../src/client.js'
import { parseParameters } from '../src/parameters.js'
import { CHALLENGE, type Change, CLIENT, CONTEXT, query } from './authorization-fixture.js'

const evaluate = (encoded: string, context: Partial<AuthorizationOptions> = {}) =>
  validateAuthorizationRequest(parseParameters(encoded), { ...CONTEXT, ...context })
const withClient = (change: Partial<Client>) => ({ client: { ...CLIENT, ...change } })

const ACCEPTED = {
  clientId: 'app',
  redirectUri: 'https://app.example/cb',
  scope: ['files.read'],
  audience: 'https://files.example',
  state: 'xyz',
  codeChallenge: CHALLENGE,
  prompt: []
}
const NO_PKCE = { code_challenge: undefined, code_challenge_method: undefined }

describe('accepted', () => {
  test.each<{ name: string; change: Change; request: object }>([
    { name: 'a request with everything', change: {}, request: {} },
    { name: 'no state', change: { state: undefined }, request: { state: undefined } },
    { name: 'an empty state', change: { state: '' }, request: { state: undefined } },
    { name: 'a state of one character', change: { state: 's' }, request: { state: 's' } },
    { name: 'a state of any text', change: { state: ' &=%+é🔑"\\ ' }, request: { state: ' &=%+é🔑"\\ ' } },
    { name: 'no PKCE', change: NO_PKCE, request: { codeChallenge: undefined } },
    {
      name: 'empty PKCE',
      change: { code_challenge: '', code_challenge_method: '' },
      request: { codeChallenge: undefined }
    },
    {
      name: 'two scopes',
      change: { scope: 'files.write files.read' },
      request: { scope: ['files.write', 'files.read'] }
    },
    { name: 'a scope given twice', change: { scope: 'files.read files.read' }, request: { scope: ['files.read'] } },
    { name: 'only an optional scope', change: { scope: 'files.write' }, request: { scope: ['files.write'] } },
    { name: 'the default resource', change: { resource: 'https://files.example' }, request: {} },
    { name: 'an empty resource', change: { resource: '' }, request: {} },
    { name: 'the default resource as a parser writes it', change: { resource: 'HTTPS://files.example/' }, request: {} },
    {
      name: 'another known resource and its scope',
      change: { resource: 'https://photos.example', scope: 'photos.write' },
      request: { audience: 'https://photos.example', scope: ['photos.write'] }
    },
    {
      name: 'no scope and a resource with a default scope',
      change: { resource: 'https://photos.example', scope: undefined },
      request: { audience: 'https://photos.example', scope: ['photos.read'] }
    },
    {
      name: 'an empty scope and a resource with a default scope',
      change: { resource: 'https://photos.example', scope: '' },
      request: { audience: 'https://photos.example', scope: ['photos.read'] }
    },
    {
      name: 'another loopback port',
      change: { redirect_uri: 'http://127.0.0.1:5123/cb' },
      request: { redirectUri: 'http://127.0.0.1:5123/cb' }
    },
    { name: 'unknown parameters', change: { no_such_parameter: 'x', nonce: 'n' }, request: {} },
    { name: 'an empty prompt', change: { prompt: '' }, request: {} },
    ...(['none', 'login', 'select_account', 'consent'] as const).map((prompt) => ({
      name: `prompt ${prompt}`,
      change: { prompt },
      request: { prompt: [prompt] }
    })),
    { name: 'two prompts', change: { prompt: 'consent login' }, request: { prompt: ['login', 'consent'] } },
    { name: 'prompt none twice', change: { prompt: 'none none' }, request: { prompt: ['none'] } },
    { name: 'unknown prompts', change: { prompt: 'create Login' }, request: {} },
    { name: 'an unknown prompt with login', change: { prompt: 'create login' }, request: { prompt: ['login'] } },
    { name: 'prompts with more than one space', change: { prompt: ' login  ' }, request: { prompt: ['login'] } },
    { name: 'an empty max_age', change: { max_age: '' }, request: {} },
    ...(
      [
        ['0', 0],
        ['300', 300],
        ['0300', 300],
        ['9'.repeat(15), 999_999_999_999_999],
        ['9'.repeat(400), Number.POSITIVE_INFINITY]
      ] as const
    ).map(([max_age, maxAge]) => ({
      name: `max_age ${max_age.slice(0, 20)}`,
      change: { max_age },
      request: { maxAge }
    })),
    { name: 'a client secret', change: { client_secret: 's' }, request: {} },
    { name: 'bracketed names', change: { 'scope[]': 'x', 'redirect_uri[0]': 'https://evil.example' }, request: {} }
  ])('authorization request: $name is accepted (RFC 6749 §4.1.1)', ({ change, request }) => {
    expect(evaluate(query(change))).toEqual({ kind: 'accepted', request: { ...ACCEPTED, ...request } })
  })

  test.each([
    { name: 'an unknown parameter sent twice', appended: '&no_such_parameter=a&no_such_parameter=b' },
    { name: 'an unknown parameter that is malformed', appended: '&no_such_parameter=%ff' },
    { name: 'an empty second value', appended: '&scope=&state&response_type=' }
  ])('authorization request: $name changes nothing (RFC 6749 §3.1)', ({ appended }) => {
    expect(evaluate(query({}, appended))).toEqual({ kind: 'accepted', request: ACCEPTED })
  })

  test('authorization request: the order of parameters has no effect', () => {
    expect(evaluate(query().split('&').toReversed().join('&'))).toEqual({ kind: 'accepted', request: ACCEPTED })
  })
})

describe('the error page', () => {
  test.each<{ name: string; change?: Change; appended?: string; context?: Partial<AuthorizationOptions> }>([
    { name: 'no client', context: { client: undefined } },
    { name: 'no client_id', change: { client_id: undefined } },
    { name: 'an empty client_id', change: { client_id: '' } },
    { name: 'the client_id of another client', change: { client_id: 'other' } },
    { name: 'the client_id in other case', change: { client_id: 'App' } },
    { name: 'the client_id with a space', change: { client_id: 'app ' } },
    { name: 'the client_id twice', appended: '&client_id=app' },
    { name: 'another client_id besides', appended: '&client_id=other' },
    { name: 'a client_id that is not UTF-8', change: { client_id: undefined }, appended: '&client_id=app%ff' },
    { name: 'a client_id with NUL', change: { client_id: 'app\u0000' } },
    { name: 'a bracketed client_id', change: { client_id: undefined, 'client_id[]': 'app' } }
  ])(
    'authorization request: $name shows a page, unknown_client (RFC 6749 §4.1.2.1)',
    ({ change, appended, context }) => {
      expect(evaluate(query(change, appended), context)).toEqual({ kind: 'show_error_page', reason: 'unknown_client' })
    }
  )

  test.each<{ name: string; change?: Change; appended?: string }>([
    { name: 'no redirect_uri', change: { redirect_uri: undefined } },
    { name: 'an empty redirect_uri', change: { redirect_uri: '' } },
    { name: 'an unregistered redirect_uri', change: { redirect_uri: 'https://evil.example/cb' } },
    { name: 'a redirect_uri with a trailing slash', change: { redirect_uri: 'https://app.example/cb/' } },
    { name: 'a redirect_uri with a query', change: { redirect_uri: 'https://app.example/cb?a=1' } },
    { name: 'a redirect_uri encoded twice', change: { redirect_uri: 'https%3A%2F%2Fapp.example%2Fcb' } },
    { name: 'another loopback host', change: { redirect_uri: 'http://localhost/cb' } },
    { name: 'the redirect_uri twice', appended: '&redirect_uri=https://app.example/cb' },
    {
      name: 'another redirect_uri before',
      change: { redirect_uri: 'https://evil.example' },
      appended: '&redirect_uri=https://app.example/cb'
    },
    { name: 'another redirect_uri after', appended: '&redirect_uri=https://evil.example' },
    { name: 'a second redirect_uri that is malformed', appended: '&redirect_uri=%ff' },
    { name: 'a redirect_uri that is not UTF-8', change: { redirect_uri: undefined }, appended: '&redirect_uri=%ff' },
    { name: 'a redirect_uri with NUL', change: { redirect_uri: 'https://app.example/cb\u0000' } },
    { name: 'a redirect_uri with a line break', change: { redirect_uri: 'https://app.example/cb\r\n' } },
    {
      name: 'a bracketed redirect_uri',
      change: { redirect_uri: undefined, 'redirect_uri[]': 'https://app.example/cb' }
    }
  ])('authorization request: $name shows a page, redirect_uri_mismatch (RFC 6749 §4.1.2.1)', ({ change, appended }) => {
    expect(evaluate(query(change, appended))).toEqual({ kind: 'show_error_page', reason: 'redirect_uri_mismatch' })
  })
})

test('authorization request: PKCE is optional for a confidential client', () => {
  for (const client of [{}, { requiresPkce: true }, { type: 'public' as const }]) {
    expect(evaluate(query(), withClient(client))).toMatchObject({ kind: 'accepted' })
  }
})

test('authorization request: one that was not pushed is refused if it must be pushed (RFC 9126 §5, §6)', () => {
  const parameters = parseParameters(query({}))
  expect(validateAuthorizationRequest(parameters, { ...CONTEXT, isPushMissing: true })).toMatchObject({
    kind: 'redirect_error',
    error: 'invalid_request',
    description: expect.stringContaining('push')
  })
  expect(validateAuthorizationRequest(parameters, { ...CONTEXT, isPushMissing: false }).kind).toBe('accepted')
})
