import { describe, expect, test } from '@jest/globals'
import { readProviders } from '../src/index.js'

const PROVIDER = {
  id: 'example',
  label: 'Example',
  issuer: 'https://id.example.com',
  client_id: 'valetkey',
  client_secret: 'a-secret-of-the-provider'
}

const isLoopback = (hostname: string) => hostname === 'localhost' || hostname === '[::1]'

function read(change: Readonly<Record<string, unknown>>) {
  return readProviders(JSON.stringify([{ ...PROVIDER, ...change }]), isLoopback)
}

const GATE = '[0].require must be an object of claims, each with a list of texts: {"groups": ["staff"]}'
const METHOD = '[0].token_endpoint_auth_method must be client_secret_basic or client_secret_post or client_secret_jwt'

test('a provider with the required members only has the defaults', () => {
  expect(read({})).toEqual({
    providers: [
      {
        id: 'example',
        label: 'Example',
        issuer: 'https://id.example.com',
        clientId: 'valetkey',
        credential: { kind: 'secret', value: 'a-secret-of-the-provider' },
        scopes: ['openid', 'profile'],
        provisioning: 'deny',
        require: {},
        usernameClaim: 'preferred_username',
        sessionHours: 12
      }
    ],
    problems: []
  })
})

test('every member is read', () => {
  const { providers, problems } = read({
    client_secret: undefined,
    private_key_file: '/run/secrets/key.pem',
    scopes: ['openid', 'email'],
    provisioning: 'create',
    require: { groups: ['staff', 'guests'], tid: ['t'] },
    username_claim: 'email',
    session_hours: 0.5,
    token_endpoint_auth_method: 'private_key_jwt',
    response_mode: 'form_post'
  })
  expect(problems).toEqual([])
  expect(providers[0]).toMatchObject({
    credential: { kind: 'private_key_file', path: '/run/secrets/key.pem' },
    scopes: ['openid', 'email'],
    provisioning: 'create',
    require: { groups: ['staff', 'guests'], tid: ['t'] },
    usernameClaim: 'email',
    sessionHours: 0.5,
    authMethod: 'private_key_jwt',
    responseMode: 'form_post'
  })
})

test.each(['', '{}', '[1]', '[null]', '[[]]', 'null', 'no json'])('%j is no array of objects', (text) => {
  expect(readProviders(text, isLoopback)).toEqual({ providers: [], problems: ['is not a JSON array of objects'] })
})

describe('a mistake is named with its element and member', () => {
  test.each<[string, Readonly<Record<string, unknown>>, string]>([
    ['a missing id', { id: undefined }, '[0].id is missing'],
    ['an id with a capital letter', { id: 'Example' }, '[0].id must be 1 to 32 of a-z, 0-9 and -, and not handoff'],
    ['an id of 33 characters', { id: 'a'.repeat(33) }, '[0].id must be 1 to 32 of a-z, 0-9 and -, and not handoff'],
    ['the id of the hand-off', { id: 'handoff' }, '[0].id must be 1 to 32 of a-z, 0-9 and -, and not handoff'],
    ['an empty label', { label: '' }, '[0].label must be text of 1 to 500 characters'],
    ['a label with a line break', { label: 'a\nb' }, '[0].label must be text of 1 to 500 characters'],
    ['a number as client_id', { client_id: 1 }, '[0].client_id must be text of 1 to 500 characters'],
    ['an unknown member', { scope: 'openid' }, '[0].scope is not known'],
    [
      'no credential',
      { client_secret: undefined },
      '[0] needs exactly one of client_secret, client_secret_file, private_key_file'
    ],
    [
      'two credentials',
      { client_secret_file: '/f' },
      '[0] needs exactly one of client_secret, client_secret_file, private_key_file'
    ],
    ['scopes without openid', { scopes: 'profile' }, '[0].scopes must be a list of scopes with openid'],
    ['a scope with a quote', { scopes: ['openid', 'a"b'] }, '[0].scopes must be a list of scopes with openid'],
    ['an unknown provisioning', { provisioning: 'link' }, '[0].provisioning must be deny or create'],
    [
      'a gate without a list',
      { require: { groups: 'staff' } },
      '[0].require must be an object of claims, each with a list of texts: {"groups": ["staff"]}'
    ],
    [
      'a gate with an empty list',
      { require: { groups: [] } },
      '[0].require must be an object of claims, each with a list of texts: {"groups": ["staff"]}'
    ],
    ['a gate that is null', { require: null }, GATE],
    ['a gate that is a list', { require: ['staff'] }, GATE],
    ['a gate with a number', { require: { level: [3] } }, GATE],
    [
      'a gate with an object',
      { require: { realm: { roles: ['staff'] } } },
      '[0].require must name a claim within realm by its path: {"realm.roles": ["staff"]}'
    ],
    [
      'a gate on an object',
      { require: { realm_access: ['staff'] } },
      '[0].require can never match: realm_access is an object; name the path to a value, such as realm_access.roles'
    ],
    [
      'a gate on the nonce',
      { require: { nonce: ['n'] } },
      '[0].require can never match: nonce differs at every sign-in'
    ],
    [
      'a gate on another issuer',
      { require: { iss: ['https://id.example.com/'] } },
      '[0].require can never match: iss is https://id.example.com'
    ],
    [
      'a gate with a boolean as another word',
      { require: { email_verified: ['yes'] } },
      '[0].require can never match: email_verified is true or false'
    ],
    ['a gate with an empty value', { require: { hd: [''] } }, '[0].require has a value of hd that is not a name'],
    ['a gate without a claim', { require: { '': ['x'] } }, '[0].require has a claim that no provider sends: ""'],
    ['a gate with half a path', { require: { 'a.': ['x'] } }, '[0].require has a claim that no provider sends: "a."'],
    ['a method of a key with a secret', { token_endpoint_auth_method: 'private_key_jwt' }, METHOD],
    [
      'a method of a secret with a key',
      { client_secret: undefined, private_key_file: '/f', token_endpoint_auth_method: 'client_secret_post' },
      '[0].token_endpoint_auth_method must be private_key_jwt'
    ],
    ['no method', { token_endpoint_auth_method: 'none' }, METHOD],
    ['an unknown response mode', { response_mode: 'fragment' }, '[0].response_mode must be query or form_post'],
    ['a session of no time', { session_hours: 0 }, '[0].session_hours must be a number above 0, at most 168'],
    ['a session over a week', { session_hours: 169 }, '[0].session_hours must be a number above 0, at most 168'],
    ['a session as text', { session_hours: '12' }, '[0].session_hours must be a number above 0, at most 168']
  ])('%s', (_name, change, problem) => {
    expect(read(change).problems).toEqual([problem])
  })

  test.each([
    'http://id.example.com',
    'https://id.example.com?a=1',
    'https://id.example.com#a',
    'https://user@id.example.com',
    'id.example.com',
    'http://127.0.0.1.example.com',
    'ftp://id.example.com'
  ])('the issuer %s', (issuer) => {
    expect(read({ issuer }).problems).toEqual([
      '[0].issuer must be an https URL without query and fragment; http is allowed on this machine only'
    ])
  })

  test('an id and an issuer that appear twice', () => {
    expect(readProviders(JSON.stringify([PROVIDER, PROVIDER]), isLoopback).problems).toEqual([
      'id example appears twice',
      'issuer https://id.example.com appears twice'
    ])
  })

  test('no problem contains a secret', () => {
    const { problems } = read({ id: '', client_secret_file: '/f', client_secret: 'a-secret-of-the-provider\n' })
    expect(problems.length).toBeGreaterThan(1)
    expect(problems.join()).not.toContain('a-secret')
  })
})

test.each(['http://localhost:4300', 'http://[::1]:4300', 'https://id.example.com/realms/a'])(
  'the issuer %s is accepted',
  (issuer) => {
    expect(read({ issuer }).problems).toEqual([])
  }
)
