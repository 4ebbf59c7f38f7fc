import { expectRefusal } from '../authorization.js'
import type { Check } from '../check.js'
import { verdict } from '../outcome.js'
import type { Session } from '../session.js'

const PROFILE = { level: 'MUST', profiles: ['fapi2'] } as const
const METHODS = ['private_key_jwt', 'tls_client_auth', 'self_signed_tls_client_auth']
const ALGORITHMS = ['PS256', 'ES256', 'EdDSA', 'Ed25519']

/** What a server under the FAPI 2.0 Security Profile announces, and what it refuses without authentication. */
export const fapi2Checks: readonly Check[] = [
  {
    id: 'fapi-client-authentication',
    title: 'clients authenticate with private_key_jwt or mutual TLS only',
    section: 'FAPI 2.0 Security Profile §5.3.2.1',
    ...PROFILE,
    hint: 'Announce no other token_endpoint_auth_methods_supported. Valetkey: PROFILE=fapi2.',
    // Missing means client_secret_basic.
    run: (session) => evaluateList(session, 'token_endpoint_auth_methods_supported', METHODS)
  },
  {
    id: 'fapi-algorithms',
    title: 'assertions are signed with PS256, ES256 or EdDSA',
    section: 'FAPI 2.0 Security Profile §5.4.1',
    ...PROFILE,
    hint: 'Remove RS256 and others from token_endpoint_auth_signing_alg_values_supported. Valetkey: PROFILE=fapi2.',
    run: (session) => evaluateList(session, 'token_endpoint_auth_signing_alg_values_supported', ALGORITHMS)
  },
  {
    id: 'fapi-pushed-requests',
    title: 'metadata requires pushed authorization requests',
    section: 'FAPI 2.0 Security Profile §5.3.2.2',
    ...PROFILE,
    hint: 'Announce require_pushed_authorization_requests: true. Valetkey: PUSHED_REQUESTS=required.',
    run({ metadata: { document } }) {
      const { pushed_authorization_request_endpoint: endpoint, require_pushed_authorization_requests: required } =
        document
      if (typeof endpoint !== 'string') return verdict(false, 'there is no pushed_authorization_request_endpoint')
      return verdict(required === true, `require_pushed_authorization_requests is ${JSON.stringify(required)}`)
    }
  },
  {
    id: 'fapi-sender-constraint',
    title: 'metadata announces DPoP or tokens bound to certificates',
    section: 'FAPI 2.0 Security Profile §5.3.2.1',
    ...PROFILE,
    hint: 'Announce dpop_signing_alg_values_supported. Valetkey: DPOP=required.',
    run({ metadata: { document } }) {
      const { dpop_signing_alg_values_supported: dpop, tls_client_certificate_bound_access_tokens: tls } = document
      return verdict(tls === true || Array.isArray(dpop), 'neither is announced')
    }
  },
  {
    id: 'fapi-direct-request',
    title: 'an authorization request that was not pushed is refused',
    section: 'FAPI 2.0 Security Profile §5.3.2.2',
    ...PROFILE,
    needs: ['client'],
    hint: 'Respond with invalid_request. Valetkey: PUSHED_REQUESTS=required, or clients update --require-par.',
    run: (session) => expectRefusal(session, {})
  }
]

function evaluateList({ metadata: { document } }: Session, name: string, allowed: readonly string[]) {
  const values = document[name]
  const isRight = Array.isArray(values) && values.length > 0 && values.every((value) => allowed.includes(value))
  return verdict(isRight, `${name} is ${JSON.stringify(values)}`)
}
