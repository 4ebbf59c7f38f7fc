import { randomUUID } from 'node:crypto'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { readRegisteredKeys, toStoredJwk } from '../../../../src/platform/clients/client-keys.js'
import type { ClientRegistration } from '../../../../src/storage/postgres/clients.js'
import { ISSUER, type TestServer } from '../../../support/authorization-server.js'

/** A key of a client. */
export type SigningKey = { algorithm: string; privateKey: CryptoKey; jwk: JWK & { kid: string } }

export async function createSigningKey(algorithm = 'ES256', kid: string = randomUUID()): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  return { algorithm, privateKey, jwk: { ...(await exportJWK(publicKey)), kid } }
}

export type AssertionChange = { header?: Record<string, unknown>; payload?: Record<string, unknown> }

/** Undefined removes a member. */
function signAssertion(key: SigningKey, clientId: string, { header, payload }: AssertionChange = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1_000)
  const claims = { iss: clientId, sub: clientId, aud: ISSUER, iat: now, exp: now + 60, jti: randomUUID(), ...payload }
  return new SignJWT(claims)
    .setProtectedHeader({ alg: key.algorithm, kid: key.jwk.kid, ...header })
    .sign(key.privateKey)
}

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

export async function assertionForm(
  key: SigningKey,
  clientId: string,
  change: AssertionChange = {}
): Promise<Record<string, string>> {
  return {
    client_assertion_type: ASSERTION_TYPE,
    client_assertion: await signAssertion(key, clientId, change)
  }
}

/** The members of a client that has these keys. */
export function withKeys(...keys: readonly SigningKey[]): Partial<ClientRegistration> {
  const read = readRegisteredKeys({ keys: keys.map(({ jwk }) => jwk) })
  if (read.kind === 'refused') throw new Error(read.objection)
  return { privateKeyJwt: 'required', keys: { registered: read.keys.map(toStoredJwk), fetched: undefined } }
}

/** Registers a client with these keys and no secret. */
export async function createClientWithKeys(
  server: TestServer,
  ...keys: readonly SigningKey[]
): Promise<{ clientId: string; clientSecret: string }> {
  const { clientId, clientSecret } = await server.createClient(withKeys(...keys))
  return { clientId, clientSecret }
}
