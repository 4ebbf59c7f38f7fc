import { expect, test } from '@jest/globals'
import {
  protectedResourceMetadata,
  protectedResourceMetadataPath,
  protectedResourceMetadataUrl
} from '../src/protected-resource-metadata.js'

test('protected resource metadata contains exactly the supported members (RFC 9728 §2)', () => {
  const about = {
    resource: 'https://files.example',
    authorizationServers: ['https://a.example'],
    scopesSupported: ['x']
  }
  expect(protectedResourceMetadata(about)).toEqual({
    resource: 'https://files.example',
    authorization_servers: ['https://a.example'],
    scopes_supported: ['x'],
    bearer_methods_supported: ['header']
  })
})

test.each([
  { dpop: 'allowed', bearer: ['header'], required: undefined },
  { dpop: 'required', bearer: [], required: true }
] as const)('The metadata of a resource where DPoP is $dpop says so (RFC 9728 §2)', ({ dpop, bearer, required }) => {
  const about = { resource: 'https://files.example', authorizationServers: [], scopesSupported: [] }
  expect(protectedResourceMetadata({ ...about, dpop })).toMatchObject({
    bearer_methods_supported: bearer,
    dpop_signing_alg_values_supported: ['ES256', 'PS256', 'EdDSA', 'Ed25519'],
    ...(required && { dpop_bound_access_tokens_required: required })
  })
  expect('dpop_bound_access_tokens_required' in protectedResourceMetadata({ ...about, dpop })).toBe(required === true)
})

test.each([
  { resource: 'https://files.example', path: '/.well-known/oauth-protected-resource' },
  { resource: 'https://files.example:8443/api', path: '/.well-known/oauth-protected-resource/api' }
])('the metadata of $resource is served at $path (RFC 9728 §3.1)', ({ resource, path }) => {
  expect(protectedResourceMetadataPath(resource)).toBe(path)
  expect(protectedResourceMetadataUrl(resource)).toBe(new URL(path, resource).href)
})
