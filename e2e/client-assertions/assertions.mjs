import { randomUUID } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

export async function createKey() {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid: randomUUID() } }
}

/** The credentials of one request. */
export async function credentialsOf(issuer, clientId, { privateKey, jwk }) {
  const claims = { iss: clientId, sub: clientId, aud: issuer, jti: randomUUID() }
  const signing = new SignJWT(claims).setIssuedAt().setExpirationTime('1m')
  const assertion = await signing.setProtectedHeader({ alg: 'ES256', kid: jwk.kid }).sign(privateKey)
  return { client_assertion_type: ASSERTION_TYPE, client_assertion: assertion }
}
