import { expect, test } from '@jest/globals'
import { serverMetadata, serverMetadataPath } from '../src/server-metadata.js'

const WELL_KNOWN = '/.well-known/oauth-authorization-server'

test.each([
  { issuer: 'https://auth.example', path: WELL_KNOWN },
  { issuer: 'https://auth.example/', path: WELL_KNOWN },
  { issuer: 'https://auth.example:8443', path: WELL_KNOWN },
  { issuer: 'http://localhost:4000', path: WELL_KNOWN },
  { issuer: 'https://auth.example/tenant', path: `${WELL_KNOWN}/tenant` },
  { issuer: 'https://auth.example/tenant/', path: `${WELL_KNOWN}/tenant` },
  { issuer: 'https://auth.example/a/b', path: `${WELL_KNOWN}/a/b` },
  { issuer: 'https://auth.example/a%20b', path: `${WELL_KNOWN}/a%20b` }
])('server metadata: the metadata of $issuer is at $path (RFC 8414 §3.1)', ({ issuer, path }) => {
  expect(serverMetadataPath(issuer)).toBe(path)
})

test.each(['https://auth.example', 'https://auth.example/tenant', 'http://localhost:4000'])(
  'server metadata: %s tells what works, byte for byte under its own name, and nothing more (RFC 8414 §2)',
  (issuer) => {
    expect(
      serverMetadata({ issuer, scopes: ['files.read', 'files.read:images'], languages: ['en', 'de'] })
    ).toStrictEqual({
      issuer,
      authorization_endpoint: `${issuer}/oauth/authorize`,
      token_endpoint: `${issuer}/token`,
      revocation_endpoint: `${issuer}/oauth/revoke`,
      scopes_supported: ['files.read', 'files.read:images'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      code_challenge_methods_supported: ['S256'],
      request_parameter_supported: false,
      request_uri_parameter_supported: false,
      ui_locales_supported: ['en', 'de'],
      authorization_response_iss_parameter_supported: true
    })
  }
)

test('server metadata: says that client ids may be URLs only if they may', () => {
  const server = { issuer: 'https://auth.example', scopes: [], languages: ['en'] }
  const name = 'client_id_metadata_document_supported'
  expect(serverMetadata({ ...server, discoversClients: true })).toMatchObject({ [name]: true })
  expect(serverMetadata({ ...server, discoversClients: false })).not.toHaveProperty(name)
})

test('server metadata: names private_key_jwt with its algorithms at both endpoints, after Basic and before none (RFC 8414 §2)', () => {
  const algorithms = ['ES256', 'PS256']
  const server = { issuer: 'https://auth.example', scopes: [], languages: ['en'], assertionAlgorithms: algorithms }
  const methods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none']
  expect(serverMetadata(server)).toMatchObject({
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: algorithms,
    revocation_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_signing_alg_values_supported: algorithms
  })
})
