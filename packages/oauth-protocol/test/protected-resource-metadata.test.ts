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
  { resource: 'https://files.example', path: '/.well-known/oauth-protected-resource' },
  { resource: 'https://files.example:8443/api', path: '/.well-known/oauth-protected-resource/api' }
])('the metadata of $resource is served at $path (RFC 9728 §3.1)', ({ resource, path }) => {
  expect(protectedResourceMetadataPath(resource)).toBe(path)
  expect(protectedResourceMetadataUrl(resource)).toBe(new URL(path, resource).href)
})
