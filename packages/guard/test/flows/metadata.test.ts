import { expect, test } from '@jest/globals'
import { buildApi, ISSUER, RESOURCE } from '../guarded-api.js'

// Metadata needs no introspection.
const ENDPOINT = 'http://127.0.0.1:9/introspect'

test('the metadata names the authorization server and is readable from every origin (RFC 9728 §2, §3.2)', async () => {
  const api = await buildApi(ENDPOINT)
  const response = await api.inject('/.well-known/oauth-protected-resource')
  expect(response.headers['access-control-allow-origin']).toBe('*')
  expect(response.json()).toEqual({
    resource: RESOURCE,
    authorization_servers: [ISSUER],
    scopes_supported: ['files.read'],
    bearer_methods_supported: ['header']
  })
  await api.close()
})

test('a resource with a path: the metadata is between host and path, only there, and the challenge names it (RFC 9728 §3.1, §5.1)', async () => {
  const resource = `${RESOURCE}/mcp`
  const api = await buildApi(ENDPOINT, { resource })
  const metadata = `${RESOURCE}/.well-known/oauth-protected-resource/mcp`
  expect((await api.inject(new URL(metadata).pathname)).json()).toMatchObject({ resource })
  expect((await api.inject('/.well-known/oauth-protected-resource')).statusCode).toBe(404)
  const { headers } = await api.inject('/files')
  expect(headers['www-authenticate']).toContain(`resource_metadata="${metadata}"`)
  await api.close()
})

test.each([
  { name: 'without a path', resource: RESOURCE, path: '/.well-known/oauth-protected-resource' },
  { name: 'with a path', resource: `${RESOURCE}/mcp`, path: '/.well-known/oauth-protected-resource/mcp' }
])('a preflight for the metadata of a resource $name allows any header from any origin', async ({ resource, path }) => {
  const api = await buildApi(ENDPOINT, { resource })
  const { statusCode, headers } = await api.inject({
    method: 'OPTIONS',
    url: path,
    headers: {
      origin: 'https://agent.example',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'mcp-protocol-version,traceparent'
    }
  })
  expect(statusCode).toBe(204)
  expect(headers['access-control-allow-origin']).toBe('*')
  expect(headers['access-control-allow-methods']).toBe('*')
  expect(headers['access-control-allow-headers']).toBe('authorization, *, mcp-protocol-version,traceparent')
  expect(headers).not.toHaveProperty('access-control-allow-credentials')
  await api.close()
})
