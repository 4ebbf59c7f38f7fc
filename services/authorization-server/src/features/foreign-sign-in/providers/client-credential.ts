import { createPrivateKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ConfigurationError, decodeText } from '@valetkey/service-kit'
import type { AuthMethod, ProviderSettings } from '@valetkey/sign-in-rules'
import { importPKCS8 } from 'jose'
import {
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretJwt,
  ClientSecretPost,
  modifyAssertion,
  PrivateKeyJwt,
  type ServerMetadata
} from 'openid-client'

/** How Valetkey authenticates at the token endpoint of one provider; its files are read. */
export type ClientCredential =
  | { kind: 'secret'; value: string }
  | { kind: 'private_key'; key: KeyObject; alg: string; kid: string | undefined }

/** Reads the secret or the private key of a provider. @throws {ConfigurationError} if the file cannot be read or used */
export function loadCredential({ id, credential }: ProviderSettings): ClientCredential {
  switch (credential.kind) {
    case 'secret':
      return credential
    case 'secret_file': {
      const value = readFile(id, credential.path).replace(/\r?\n$/, '')
      if (value === '') throw problem(id, `the file ${credential.path} is empty`)
      return { kind: 'secret', value }
    }
    case 'private_key_file':
      return readKey(id, credential.path)
  }
}

/**
 * The method of client authentication. Basic is the default of providers that announce none (OpenID Connect Discovery 1.0 §3);
 * post is used only if the provider announces it and not Basic.
 * @param configured instead of what the provider announces, because some announce what they do not accept
 */
export async function clientAuthentication(
  credential: ClientCredential,
  {
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: algorithms
  }: ServerMetadata,
  configured?: AuthMethod
): Promise<ClientAuth> {
  if (credential.kind === 'private_key') return privateKeyAuthentication(credential, algorithms)
  const announced: readonly unknown[] = Array.isArray(methods) ? methods : ['client_secret_basic']
  const usesPost = !announced.includes('client_secret_basic') && announced.includes('client_secret_post')
  switch (configured ?? (usesPost ? 'client_secret_post' : 'client_secret_basic')) {
    case 'client_secret_post':
      return ClientSecretPost(credential.value)
    case 'client_secret_jwt':
      return ClientSecretJwt(credential.value)
    default:
      return ClientSecretBasic(credential.value)
  }
}

async function privateKeyAuthentication(
  { key, alg: usual, kid }: Extract<ClientCredential, { kind: 'private_key' }>,
  algorithms: readonly string[] = [usual]
): Promise<ClientAuth> {
  const isPs = usual === 'RS256' && !algorithms.includes('RS256') && algorithms.includes('PS256')
  const alg = isPs ? 'PS256' : usual
  const imported = await importPKCS8(key.export({ type: 'pkcs8', format: 'pem' }) as string, alg)
  // The library names the new `Ed25519` (RFC 9864), which many providers do not know.
  const options = { [modifyAssertion]: (header: Record<string, unknown>) => Object.assign(header, { alg }) }
  return PrivateKeyJwt(kid === undefined ? imported : { key: imported, kid }, options)
}

/** PKCS #8 as PEM, or a JWK, which may name its `kid`. */
function readKey(id: string, path: string): ClientCredential {
  const text = readFile(id, path)
  try {
    const jwk = text.trimStart().startsWith('{') ? JSON.parse(text) : undefined
    const key = jwk === undefined ? createPrivateKey(text) : createPrivateKey({ key: jwk, format: 'jwk' })
    const alg = algorithmOf(key)
    if (alg !== undefined) return { kind: 'private_key', key, alg, kid: jwk?.kid }
  } catch {
    // The message of the error could contain a part of the key.
  }
  throw problem(id, `the file ${path} is not a private key for RS256, ES256, ES384, ES512 or EdDSA`)
}

const ALGORITHMS_OF_CURVES: ReadonlyMap<string, string> = new Map([
  ['prime256v1', 'ES256'],
  ['secp384r1', 'ES384'],
  ['secp521r1', 'ES512']
])

function algorithmOf(key: KeyObject): string | undefined {
  if (key.asymmetricKeyType === 'rsa') return 'RS256'
  if (key.asymmetricKeyType === 'ed25519') return 'EdDSA'
  return ALGORITHMS_OF_CURVES.get(key.asymmetricKeyDetails?.namedCurve ?? '')
}

function readFile(id: string, path: string): string {
  let bytes: Uint8Array
  try {
    bytes = readFileSync(path)
  } catch {
    throw problem(id, `the file ${path} cannot be read`)
  }
  const decoded = decodeText(bytes)
  if ('problem' in decoded) throw problem(id, `the file ${path} ${decoded.problem}`)
  return decoded.text
}

function problem(id: string, what: string): ConfigurationError {
  return new ConfigurationError([`SIGN_IN_PROVIDERS: provider ${id}: ${what}`])
}
