import type { SigningKey } from '../../client-keys/support/assertions.js'

/** Where an app publishes its keys, and how it authenticates with them. */
export type PublishedApp = {
  name: string
  document: (keys: { jwksUri: string; jwks: object }) => Record<string, unknown>
  /** The redirect URI of a request, which may have a port that the document does not have. */
  redirectUri: string
  /** `none`: it sends its id alone. */
  signs: 'none' | 'RS256' | 'ES256' | 'EdDSA'
}

const COMMON = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] }
const CHATGPT = {
  ...COMMON,
  client_name: 'ChatGPT',
  client_uri: 'https://chatgpt.com/',
  redirect_uris: ['https://chatgpt.com/connector/oauth/AbCdEf012345'],
  token_endpoint_auth_method: 'private_key_jwt',
  token_endpoint_auth_signing_alg: 'RS256'
}
const CALLBACK = 'https://app.example/callback'
const FORM = { ...COMMON, client_name: 'Paper Boat', redirect_uris: [CALLBACK] }
const KEY = 'private_key_jwt'

/**
 * The members of documents that products publish, as seen in 2026, and other forms that RFC 7591 and OpenID Connect RP Metadata
 * Choices 1.0 allow. The identifiers of installations are invented.
 */
export const PUBLISHED_APPS: readonly PublishedApp[] = [
  {
    name: 'ChatGPT, with its key alone',
    document: ({ jwksUri }) => ({ ...CHATGPT, jwks_uri: jwksUri }),
    redirectUri: 'https://chatgpt.com/connector/oauth/AbCdEf012345',
    signs: 'RS256'
  },
  {
    name: 'ChatGPT, with a list of both methods',
    document: ({ jwksUri }) => ({
      ...CHATGPT,
      jwks_uri: jwksUri,
      token_endpoint_auth_methods_supported: ['none', KEY]
    }),
    redirectUri: 'https://chatgpt.com/connector/oauth/AbCdEf012345',
    signs: 'RS256'
  },
  {
    name: 'ChatGPT, with a list of both methods, which uses none',
    document: ({ jwksUri }) => ({
      ...CHATGPT,
      jwks_uri: jwksUri,
      token_endpoint_auth_methods_supported: ['none', KEY]
    }),
    redirectUri: 'https://chatgpt.com/connector/oauth/AbCdEf012345',
    signs: 'none'
  },
  {
    name: 'Codex',
    document: ({ jwksUri }) => ({
      ...COMMON,
      client_name: 'Codex',
      client_uri: 'https://chatgpt.com/codex',
      application_type: 'native',
      redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
      token_endpoint_auth_method: 'none',
      token_endpoint_auth_methods_supported: ['none', KEY],
      jwks_uri: jwksUri
    }),
    redirectUri: 'http://127.0.0.1:51423/callback',
    signs: 'none'
  },
  {
    name: 'Claude',
    document: () => ({
      ...COMMON,
      client_name: 'Claude',
      client_uri: 'https://claude.ai',
      redirect_uris: [
        'https://claude.ai/api/mcp/auth_callback',
        'http://localhost/callback',
        'http://127.0.0.1/callback'
      ],
      token_endpoint_auth_method: 'none'
    }),
    redirectUri: 'http://localhost:54212/callback',
    signs: 'none'
  },
  {
    name: 'VS Code',
    document: () => ({
      client_name: 'Visual Studio Code',
      client_uri: 'https://vscode.dev/product',
      grant_types: [...COMMON.grant_types, 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
      token_endpoint_auth_method: 'none',
      application_type: 'native'
    }),
    redirectUri: 'https://vscode.dev/redirect',
    signs: 'none'
  },
  {
    name: 'Cursor',
    document: () => ({
      ...COMMON,
      client_name: 'Cursor',
      redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback', 'http://localhost/callback'],
      token_endpoint_auth_method: 'none'
    }),
    redirectUri: 'http://localhost:8787/callback',
    signs: 'none'
  },
  {
    name: 'Goose',
    document: () => ({
      ...COMMON,
      client_name: 'Goose',
      logo_uri: 'https://goose-docs.ai/img/logo_light.png',
      redirect_uris: ['http://localhost/oauth_callback'],
      token_endpoint_auth_method: 'none'
    }),
    redirectUri: 'http://localhost:49152/oauth_callback',
    signs: 'none'
  },
  {
    name: 'an app with no method',
    document: () => FORM,
    redirectUri: CALLBACK,
    signs: 'none'
  },
  {
    name: 'an app with keys in its document',
    document: ({ jwks }) => ({ ...FORM, token_endpoint_auth_method: KEY, jwks }),
    redirectUri: CALLBACK,
    signs: 'ES256'
  },
  {
    name: 'an app with none in the single member and its key in the list',
    document: ({ jwks }) => ({
      ...FORM,
      token_endpoint_auth_method: 'none',
      token_endpoint_auth_methods_supported: [KEY],
      jwks
    }),
    redirectUri: CALLBACK,
    signs: 'EdDSA'
  },
  {
    name: 'an app with methods of other servers in the list',
    document: ({ jwksUri }) => ({
      ...FORM,
      token_endpoint_auth_methods_supported: ['tls_client_auth', 'client_secret_basic', KEY],
      jwks_uri: jwksUri
    }),
    redirectUri: CALLBACK,
    signs: 'RS256'
  }
]

/** A key set as products publish it: also with a key that verifies no assertion. */
export function keySetOf(...keys: readonly SigningKey[]): { keys: object[] } {
  const forEncryption = { kty: 'RSA', use: 'enc', kid: 'encryption', n: 'AQAB', e: 'AQAB' }
  return { keys: [forEncryption, ...keys.map(({ jwk, algorithm }) => ({ ...jwk, use: 'sig', alg: algorithm }))] }
}
