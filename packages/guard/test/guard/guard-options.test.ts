import { expect, test } from '@jest/globals'
import { createGuard, type GuardOptions } from '../../src/index.js'

const introspection = { url: 'http://127.0.0.1:1/introspect', clientId: 'rs', clientSecret: 'secret' }
const options = { issuer: 'https://auth.example', resource: 'https://api.example', scopesSupported: [], introspection }

test.each<{ name: string; change: object; message: string }>([
  { name: 'no issuer', change: { issuer: undefined }, message: 'issuer must be an http or https URL' },
  { name: 'an issuer that is no URL', change: { issuer: 'auth.example' }, message: 'issuer must be' },
  { name: 'a resource with another scheme', change: { resource: 'ftp://api.example' }, message: 'resource must be' },
  { name: 'a resource with a fragment', change: { resource: 'https://api.example/#a' }, message: 'a fragment' },
  { name: 'one scope instead of a list', change: { scopesSupported: 'a' }, message: 'scopesSupported must be a list' },
  { name: 'a maxAge with a fraction', change: { maxAge: 1.5 }, message: 'maxAge must be a number of whole seconds' },
  { name: 'a negative maxAge', change: { maxAge: -1 }, message: 'maxAge must be' },
  { name: 'a maxAge that is no number', change: { maxAge: '300' }, message: 'maxAge must be' },
  { name: 'a maxAge of NaN', change: { maxAge: Number.NaN }, message: 'maxAge must be' },
  { name: 'a text as types', change: { authorizationDetailTypes: 'files' }, message: 'authorizationDetailTypes must' },
  {
    name: 'a type that is no text',
    change: { authorizationDetailTypes: [1] },
    message: 'authorizationDetailTypes must'
  },
  { name: 'no introspection', change: { introspection: undefined }, message: 'introspection must have url' },
  {
    name: 'no introspection URL',
    change: { introspection: { ...introspection, url: undefined } },
    message: 'introspection.url must be'
  },
  {
    name: 'no client secret, as from a variable that is not set',
    change: { introspection: { ...introspection, clientSecret: undefined } },
    message: 'introspection.clientSecret must be a string'
  },
  {
    name: 'an empty client id',
    change: { introspection: { ...introspection, clientId: '' } },
    message: 'introspection.clientId is empty'
  },
  {
    name: 'an empty client secret',
    change: { introspection: { ...introspection, clientSecret: '' } },
    message: 'introspection.clientSecret is empty'
  }
])('createGuard with $name: a TypeError that names it', ({ change, message }) => {
  const create = () => createGuard({ ...options, ...change } as GuardOptions)
  expect(create).toThrow(TypeError)
  expect(create).toThrow(message)
})

test('createGuard with the required options only: a guard', async () => {
  await createGuard(options).close()
})
