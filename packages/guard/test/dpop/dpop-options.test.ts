import { expect, test } from '@jest/globals'
import { readDpopOptions } from '../../src/dpop/dpop-options.js'
import { createGuard, type DpopOptions, type GuardOptions } from '../../src/index.js'

const RESOURCE = 'https://api.example:8443/mcp?a=b'
const SECRET = 'a secret of at least thirty-two characters'

test.each<{ name: string; options: DpopOptions; expected: object }>([
  {
    name: 'nothing',
    options: {},
    expected: { mode: 'allowed', toleranceSeconds: 300, base: 'https://api.example:8443' }
  },
  { name: 'a prefix', options: { pathPrefix: '/api/v1' }, expected: { base: 'https://api.example:8443/api/v1' } },
  {
    name: 'another origin',
    options: { publicOrigin: 'HTTPS://Public.example:443/', pathPrefix: '/a' },
    expected: { base: 'https://public.example/a' }
  },
  {
    name: 'secrets of nonces',
    options: { nonceKeys: [SECRET] },
    expected: { nonces: { keys: [SECRET], server: RESOURCE } }
  }
])('readDpopOptions with $name has the defaults for the rest', ({ options, expected }) => {
  expect(readDpopOptions(options, RESOURCE)).toMatchObject(expected)
})

test.each<{ options: object; message: string }>([
  { options: { mode: 'off' }, message: 'dpop.mode must be allowed or required' },
  { options: { toleranceSeconds: 0 }, message: 'dpop.toleranceSeconds must be a whole number from 1 to 3600' },
  { options: { toleranceSeconds: '300' }, message: 'dpop.toleranceSeconds' },
  { options: { toleranceSeconds: 3_601 }, message: 'dpop.toleranceSeconds' },
  {
    options: { publicOrigin: 'api.example' },
    message: 'dpop.publicOrigin must be an http or https URL without a path'
  },
  { options: { publicOrigin: 'https://api.example/v1' }, message: 'dpop.publicOrigin' },
  { options: { publicOrigin: 'https://user@api.example' }, message: 'dpop.publicOrigin' },
  { options: { publicOrigin: 7 }, message: 'dpop.publicOrigin' },
  { options: { pathPrefix: 'api' }, message: 'dpop.pathPrefix must begin with a slash and not end with one' },
  { options: { pathPrefix: '/api/' }, message: 'dpop.pathPrefix' },
  { options: { pathPrefix: '/a?b' }, message: 'dpop.pathPrefix' },
  { options: { replayStore: {} }, message: 'dpop.replayStore must have the function firstUse' },
  { options: { nonceKeys: [] }, message: 'dpop.nonceKeys must be a list of secrets of at least 32 characters' },
  { options: { nonceKeys: SECRET }, message: 'dpop.nonceKeys' },
  { options: { nonceKeys: [SECRET, SECRET.slice(0, 31)] }, message: 'dpop.nonceKeys' },
  { options: { nonceKeys: [7] }, message: 'dpop.nonceKeys' }
])('createGuard with dpop $options is a TypeError that names the option', ({ options, message }) => {
  const introspection = { url: 'http://127.0.0.1:1/introspect', clientId: 'rs', clientSecret: 'secret' }
  const basics = { issuer: 'https://auth.example', resource: RESOURCE, scopesSupported: [], introspection }
  const create = () => createGuard({ ...basics, dpop: options } as GuardOptions)
  expect(create).toThrow(TypeError)
  expect(create).toThrow(message)
})
