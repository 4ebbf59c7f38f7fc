import { describe, expect, test } from '@jest/globals'
import {
  type ClientMembers,
  type ClientSettings,
  membersOfKind,
  membersOfSettings,
  settingsOfMembers
} from '../../../src/operator/use-cases/client-members.js'

const members = {
  name: 'Printer',
  redirect_uris: ['https://printer.example/callback'],
  scope: 'files.read reports.read',
  optional_scope: '',
  resources: [],
  refresh: false,
  refresh_rotation: true,
  require_pkce: true,
  dpop_bound_access_tokens: true,
  require_par: false,
  profile: 'none',
  consent: 'ask',
  verified: false,
  home_page: 'https://printer.example/',
  publisher: 'Printers Ltd',
  privacy_policy: 'https://printer.example/privacy',
  terms: 'https://printer.example/terms',
  access_token_ttl: 600,
  refresh_token_idle_ttl: 3_600,
  refresh_token_max_ttl: 86_400,
  auth_method: 'private_key_jwt',
  jwks: { keys: [{ kty: 'OKP' }] },
  jwks_uri: 'https://printer.example/jwks.json'
} satisfies Required<Omit<ClientMembers, 'logo'>>

describe('settings of a client and members of its document', () => {
  test('a document with every member has the settings that lead back to it, in the same order', () => {
    expect(JSON.stringify(membersOfSettings(settingsOfMembers(members)))).toBe(JSON.stringify(members))
  })

  test('a missing member is no setting', () => {
    expect(settingsOfMembers({ terms: '', access_token_ttl: null })).toStrictEqual({ terms: '', accessTokenTtl: null })
  })

  test('a member that is no setting is ignored', () => {
    const given: ClientMembers & { type: string } = { name: 'Printer', type: 'public' }
    expect(settingsOfMembers(given)).toStrictEqual({ name: 'Printer' })
  })

  test.each<{ name: string; settings: ClientSettings; expected: ClientMembers }>([
    { name: 'a setting that is undefined', settings: { terms: undefined, refresh: true }, expected: { refresh: true } },
    { name: 'a lifetime of the server', settings: { accessTokenTtl: null, name: 'A' }, expected: { name: 'A' } },
    { name: 'no logo', settings: { logo: null }, expected: {} }
  ])('a document has no member for $name', ({ settings, expected }) => {
    expect(membersOfSettings(settings)).toStrictEqual(expected)
  })

  test('several lists of scopes become one text', () => {
    expect(membersOfSettings({ requiredScopes: ['files.read', 'reports.read'] })).toStrictEqual({
      scope: 'files.read reports.read'
    })
  })
})

test('the members of two kinds have the order of the table, whatever the order of the kinds', () => {
  expect(Object.entries(membersOfKind(['url', 'text'], ({ kind }) => kind))).toEqual([
    ['home_page', 'url'],
    ['publisher', 'text'],
    ['privacy_policy', 'url'],
    ['terms', 'url']
  ])
})
