import type { IntrospectionResponse, TokenResponse } from '@valetkey/oauth-protocol'
import type { LightMyRequestResponse } from 'fastify'
import type { Credentials, TestServer } from './authorization-server.js'
import { exchange, introspect, obtainCode } from './flow.js'

export type Tokens = Required<TokenResponse>

const CODE_VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const CODE_CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

/**
 * Runs the whole flow with PKCE, also for public clients.
 * @param change of the authorization request
 * @param browser signs in only without a session
 */
export async function obtainTokens(
  server: TestServer,
  client: Credentials,
  change: Record<string, string> = {},
  browser = server.newBrowser()
): Promise<Tokens> {
  const pkce = { code_challenge: CODE_CHALLENGE, code_challenge_method: 'S256' }
  const code = await obtainCode(server, client, { change: { ...pkce, ...change }, browser })
  return pairOf(await exchange(server, client, code, { code_verifier: CODE_VERIFIER }))
}

export async function createPublicClient(server: TestServer): Promise<Credentials> {
  const { clientId } = await server.createClient({ type: 'public', requiresPkce: true })
  // An empty parameter counts as absent.
  return { clientId, clientSecret: '' }
}

export function pairOf(answer: LightMyRequestResponse): Tokens {
  if (answer.statusCode !== 200) throw new Error(`no tokens but ${answer.statusCode} ${answer.body}`)
  return answer.json()
}

export async function introspectionOf(
  server: TestServer,
  caller: Credentials,
  accessToken: string
): Promise<IntrospectionResponse> {
  const answer = await introspect(server, caller, accessToken)
  if (answer.statusCode !== 200) throw new Error(`no introspection but ${answer.statusCode} ${answer.body}`)
  return answer.json()
}

export async function isActive(server: TestServer, caller: Credentials, accessToken: string): Promise<boolean> {
  return (await introspectionOf(server, caller, accessToken)).active
}

/** Changes the row like disabling and enabling: raises the generation, so earlier tokens stay ended. */
export async function disable(server: TestServer, kind: 'user' | 'client', id: string): Promise<void> {
  await server.database.query({
    name: `test_disable_${kind}`,
    text: `update ${kind}s set disabled_at = now(), generation = generation + 1 where ${kind}_id = $1`,
    values: [id]
  })
}

export async function enable(server: TestServer, kind: 'user' | 'client', id: string): Promise<void> {
  await server.database.query({
    name: `test_enable_${kind}`,
    text: `update ${kind}s set disabled_at = null where ${kind}_id = $1`,
    values: [id]
  })
}

export async function deleteRow(server: TestServer, kind: 'user' | 'client', id: string): Promise<void> {
  await server.database.query({
    name: `test_delete_${kind}`,
    text: `delete from ${kind}s where ${kind}_id = $1`,
    values: [id]
  })
}
