import type { LightMyRequestResponse } from 'fastify'
import type { ClientRegistration } from '../../../../src/storage/postgres/clients.js'
import { ISSUER, REDIRECT_URI, type TestServer } from '../../../support/authorization-server.js'
import { PKCE, VERIFIER } from '../../../support/codes.js'
import { post, responseParameters } from '../../../support/flow.js'
import { signedInBrowser } from '../../../support/pages.js'
import { pairOf, type Tokens } from '../../../support/tokens.js'
import { type AssertionChange, assertionForm, type SigningKey, withKeys } from '../../client-keys/support/assertions.js'
import type { Prover } from '../../dpop/support/proofs.js'
import { PUSHED_PATH, pushedUrl, requestOf } from '../../pushed-requests/support/pushed-requests.js'

/** The members of a client under the profile. */
export const UNDER_FAPI2 = {
  type: 'confidential',
  requiresPkce: true,
  requiresPushedRequests: true,
  dpopBound: true,
  keepsRefreshTokens: true,
  profile: 'fapi2'
} as const satisfies Partial<ClientRegistration>

/**
 * @property assertion a change of its assertion
 * @property dpop the proof; undefined: of its key; empty: none
 */
export type Sent = { assertion?: AssertionChange; dpop?: string; headers?: Record<string, string> }
export type Form = Record<string, string | undefined>

/** A client under the profile as it calls the server, with a key for assertions and one for proofs. */
export async function createProfiledClient(
  server: TestServer,
  keys: { key: SigningKey; prover: Prover },
  change: Partial<ClientRegistration> = {}
) {
  const { key, prover } = keys
  const { clientId } = await server.createClient({ ...UNDER_FAPI2, ...withKeys(key), ...change })

  async function send(path: string, form: Form, { assertion, dpop, headers }: Sent): Promise<LightMyRequestResponse> {
    const proof = dpop ?? (await prover.prove({ payload: { htu: `${ISSUER}${path}` } }))
    const given = { ...(await assertionForm(key, clientId, assertion)), ...form }
    const defined = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined)
    return post(server, path, Object.fromEntries(defined), { ...(proof !== '' && { dpop: proof }), ...headers })
  }

  const client = {
    clientId,
    push: (form: Form = {}, sent: Sent = {}) => send(PUSHED_PATH, { ...requestOf({ clientId }, PKCE), ...form }, sent),
    revoke: (token: string, form: Form = {}, sent: Sent = {}) => send('/oauth/revoke', { token, ...form }, sent),
    exchange: (code: string, form: Form = {}, sent: Sent = {}) =>
      send(
        '/token',
        { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: VERIFIER, ...form },
        sent
      ),
    refresh: (refreshToken: string, form: Form = {}, sent: Sent = {}) =>
      send('/token', { grant_type: 'refresh_token', refresh_token: refreshToken, ...form }, sent),

    /** Pushes a request, which alice allows. */
    async code(form: Form = {}, sent: Sent = {}): Promise<string> {
      const pushed = await client.push(form, sent)
      if (pushed.statusCode !== 201) throw new Error(`not pushed: ${pushed.statusCode} ${pushed.body}`)
      const browser = await signedInBrowser(server)
      const consent = await browser.open(pushedUrl({ clientId }, pushed.json().request_uri))
      return responseParameters(await browser.submitOnly(consent, { decision: 'allow' })).code ?? ''
    },
    async tokens(form: Form = {}): Promise<Tokens> {
      return pairOf(await client.exchange(await client.code(form)))
    }
  }
  return client
}

export type ProfiledClient = Awaited<ReturnType<typeof createProfiledClient>>
