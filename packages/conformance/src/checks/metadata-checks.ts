import { secureProblem } from '../allowed-url.js'
import type { Check } from '../check.js'
import type { Metadata } from '../metadata.js'
import { failed, PROFILES, passed, verdict } from '../outcome.js'

const ENDPOINTS = ['authorization_endpoint', 'token_endpoint', 'revocation_endpoint', 'registration_endpoint'] as const
const SIGNED_METHODS = ['private_key_jwt', 'client_secret_jwt']

function listOf({ document }: Metadata, name: string): readonly unknown[] {
  const value = document[name]
  return Array.isArray(value) ? value : []
}

/** Checks that only read the metadata. */
export const metadataChecks: readonly Check[] = [
  {
    id: 'metadata-location',
    title: 'metadata is at /.well-known/oauth-authorization-server, before the path of the issuer',
    section: 'RFC 8414 §3.1',
    level: 'SHOULD',
    profiles: ['oauth2.1', 'bcp', 'valetkey'],
    hint: 'Clients of plain OAuth look only there; openid-configuration is for OpenID Connect.',
    run: ({ metadata }) => verdict(metadata.kind === 'oauth', 'only openid-configuration was found')
  },
  {
    id: 'metadata-issuer',
    title: 'issuer is identical to the URL that the metadata was read for',
    section: 'RFC 8414 §3.3',
    level: 'MUST',
    profiles: PROFILES,
    hint: 'Compare character by character: scheme, host, port, path and the last slash.',
    run: ({ metadata, issuer }) =>
      verdict(
        metadata.document.issuer === issuer,
        `issuer is ${JSON.stringify(metadata.document.issuer)}, not ${issuer}`
      )
  },
  {
    id: 'metadata-content-type',
    title: 'metadata has the content type application/json',
    section: 'RFC 8414 §3.2',
    level: 'MUST',
    profiles: PROFILES,
    hint: 'Set Content-Type: application/json.',
    run({ metadata }) {
      const type = metadata.response.headers.get('content-type') ?? 'missing'
      return verdict(/^application\/json\s*(;|$)/i.test(type), `Content-Type is ${type}`)
    }
  },
  {
    id: 'metadata-endpoints',
    title: 'endpoints are https (http on loopback only), without a fragment',
    section: 'RFC 6749 §3.1',
    level: 'MUST',
    profiles: PROFILES,
    hint: 'Announce absolute https URLs.',
    run({ metadata: { document } }) {
      const wrong = ENDPOINTS.filter((name) => document[name] !== undefined && !isEndpoint(document[name]))
      return verdict(wrong.length === 0, `not a secure URL without a fragment: ${wrong.join(', ')}`)
    }
  },
  {
    id: 'metadata-response-types',
    title: 'response_types_supported contains code',
    section: 'RFC 8414 §2',
    level: 'MUST',
    profiles: PROFILES,
    hint: 'The member is required.',
    run: ({ metadata }) =>
      verdict(listOf(metadata, 'response_types_supported').includes('code'), 'response_types_supported lacks code')
  },
  {
    id: 'metadata-no-implicit',
    title: 'metadata offers no access token from the authorization endpoint',
    section: 'RFC 9700 §2.1.2',
    level: 'SHOULD',
    profiles: ['oauth2.1', 'bcp', 'valetkey'],
    hint: 'Remove every response type with token.',
    run({ metadata }) {
      const types = listOf(metadata, 'response_types_supported').map(String)
      const offered = types.filter((type) => type.split(' ').includes('token'))
      return verdict(offered.length === 0, `offered: ${offered.join(', ')}`)
    }
  },
  {
    id: 'metadata-no-password',
    title: 'metadata does not offer the grant type password',
    section: 'RFC 9700 §2.4',
    level: 'MUST',
    profiles: ['oauth2.1', 'bcp', 'valetkey'],
    hint: 'Remove the resource owner password credentials grant.',
    run: ({ metadata }) =>
      verdict(!listOf(metadata, 'grant_types_supported').includes('password'), 'password is offered')
  },
  {
    id: 'metadata-pkce',
    title: 'metadata announces PKCE with S256',
    section: 'RFC 9700 §2.1.1',
    level: 'MUST',
    profiles: PROFILES,
    hint: 'Announce code_challenge_methods_supported: ["S256"]; MCP clients stop without it.',
    run: ({ metadata }) =>
      verdict(listOf(metadata, 'code_challenge_methods_supported').includes('S256'), 'S256 is not announced')
  },
  {
    id: 'metadata-no-plain',
    title: 'metadata does not announce the PKCE method plain',
    section: 'RFC 9700 §2.1.1',
    level: 'SHOULD',
    profiles: ['oauth2.1', 'bcp', 'valetkey'],
    hint: 'plain shows the verifier in the authorization request; support only S256.',
    run: ({ metadata }) =>
      verdict(!listOf(metadata, 'code_challenge_methods_supported').includes('plain'), 'plain is announced')
  },
  {
    id: 'metadata-client-authentication',
    title: 'methods of client authentication are a list, and signed methods have their algorithms',
    section: 'RFC 8414 §2',
    level: 'MUST',
    profiles: PROFILES,
    hint: 'private_key_jwt and client_secret_jwt need token_endpoint_auth_signing_alg_values_supported, without none.',
    run: ({ metadata }) => evaluateMethods(metadata)
  },
  {
    id: 'metadata-iss-parameter',
    title: 'metadata announces iss in authorization responses',
    section: 'RFC 9207 §3',
    level: 'SHOULD',
    profiles: ['bcp', 'mcp', 'valetkey'],
    hint: 'Send iss and announce authorization_response_iss_parameter_supported: true.',
    run: ({ metadata }) =>
      verdict(metadata.document.authorization_response_iss_parameter_supported === true, 'iss is not announced')
  },
  {
    id: 'metadata-client-id-documents',
    title: 'metadata announces client id metadata documents',
    section: 'MCP authorization, Client ID Metadata Documents',
    level: 'SHOULD',
    profiles: ['mcp'],
    hint: 'Support them and announce client_id_metadata_document_supported: true. Valetkey: CLIENT_ID_METADATA.',
    run: ({ metadata }) =>
      verdict(metadata.document.client_id_metadata_document_supported === true, 'client id documents are not announced')
  }
]

function isEndpoint(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value) || value.includes('#')) return false
  return secureProblem(new URL(value)) === undefined
}

function evaluateMethods({ document }: Metadata) {
  const methods = document.token_endpoint_auth_methods_supported
  // Missing means client_secret_basic.
  if (methods === undefined) return passed
  if (!Array.isArray(methods) || methods.length === 0) return failed('token_endpoint_auth_methods_supported is no list')
  if (!methods.some((method) => SIGNED_METHODS.includes(method))) return passed
  const algorithms = document.token_endpoint_auth_signing_alg_values_supported
  const isRight = Array.isArray(algorithms) && algorithms.length > 0 && !algorithms.includes('none')
  return verdict(isRight, `token_endpoint_auth_signing_alg_values_supported is ${JSON.stringify(algorithms)}`)
}
