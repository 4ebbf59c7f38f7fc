import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { AuthMethod } from '@valetkey/sign-in-rules'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import {
  clientAuthentication,
  loadCredential
} from '../../../../src/features/foreign-sign-in/providers/client-credential.js'

describe('credential for a provider', () => {
  let folder: string

  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'credential-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  function file(content: string): string {
    const name = path.join(folder, crypto.randomUUID())
    writeFileSync(name, content)
    return name
  }

  const load = (credential: Parameters<typeof loadCredential>[0]['credential']) =>
    loadCredential({ id: 'corp', credential } as Parameters<typeof loadCredential>[0])
  const pem = (key: KeyObject) => String(key.export({ type: 'pkcs8', format: 'pem' }))

  async function sent(
    credential: ReturnType<typeof load>,
    methods?: string[],
    { configured, algorithms }: { configured?: AuthMethod; algorithms?: string[] } = {}
  ) {
    const announced = {
      ...(methods && { token_endpoint_auth_methods_supported: methods }),
      ...(algorithms && { token_endpoint_auth_signing_alg_values_supported: algorithms })
    }
    const server = { issuer: 'https://id.example', ...announced }
    const [body, headers] = [new URLSearchParams(), new Headers()]
    const authenticate = await clientAuthentication(credential, server, configured)
    await authenticate(server, { client_id: 'us' }, body, headers)
    return { body, authorization: headers.get('authorization') }
  }

  test('is a secret of the setting or of a file, without its line break', () => {
    expect(load({ kind: 'secret', value: 's' })).toEqual({ kind: 'secret', value: 's' })
    expect(load({ kind: 'secret_file', path: file('from a file\n') })).toEqual({ kind: 'secret', value: 'from a file' })
  })

  test.each([
    { methods: undefined, basic: true },
    { methods: ['client_secret_post', 'client_secret_basic'], basic: true },
    { methods: ['client_secret_post'], basic: false },
    { methods: ['private_key_jwt'], basic: true }
  ])('is sent by Basic: $basic, if the provider announces $methods', async ({ methods, basic }) => {
    const { body, authorization } = await sent({ kind: 'secret', value: 's' }, methods)
    expect([authorization !== null, body.has('client_secret')]).toEqual([basic, !basic])
  })

  test.each<{ configured: AuthMethod; sends: string[] }>([
    { configured: 'client_secret_basic', sends: ['authorization'] },
    { configured: 'client_secret_post', sends: ['client_secret'] },
    { configured: 'client_secret_jwt', sends: ['client_assertion'] }
  ])('is sent by $configured if that is configured, whatever is announced', async ({ configured, sends }) => {
    for (const methods of [undefined, ['client_secret_basic'], ['client_secret_post']]) {
      const { body, authorization } = await sent({ kind: 'secret', value: 's' }, methods, { configured })
      const members = ['client_secret', 'client_assertion'].filter((name) => body.has(name))
      expect([...(authorization === null ? [] : ['authorization']), ...members]).toEqual(sends)
    }
  })

  test('is signed with PS256 by an RSA key if the provider announces that and not RS256', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const credential = load({ kind: 'private_key_file', path: file(pem(privateKey)) })
    const { body } = await sent(credential, undefined, { algorithms: ['PS256', 'ES256'] })
    expect(decodeProtectedHeader(body.get('client_assertion') ?? '').alg).toBe('PS256')
  })

  test.each([
    { name: 'P-384', key: generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey, alg: 'ES384' },
    { name: 'P-521', key: generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey, alg: 'ES512' },
    { name: 'RSA', key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, alg: 'RS256' },
    { name: 'P-256', key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey, alg: 'ES256' },
    { name: 'Ed25519', key: generateKeyPairSync('ed25519').privateKey, alg: 'EdDSA' }
  ])('is a signed assertion with a key of $name (private_key_jwt)', async ({ key, alg }) => {
    const { body, authorization } = await sent(load({ kind: 'private_key_file', path: file(pem(key)) }))
    const assertion = body.get('client_assertion') ?? ''
    expect(authorization).toBeNull()
    expect(decodeProtectedHeader(assertion).alg).toBe(alg)
    expect(decodeJwt(assertion)).toMatchObject({ iss: 'us', sub: 'us', aud: 'https://id.example' })
  })

  test('names the kid of a JWK', async () => {
    const { privateKey } = generateKeyPairSync('ed25519')
    const text = JSON.stringify({ ...privateKey.export({ format: 'jwk' }), kid: 'our-key' })
    const { body } = await sent(load({ kind: 'private_key_file', path: file(text) }))
    expect(decodeProtectedHeader(body.get('client_assertion') ?? '').kid).toBe('our-key')
  })

  test.each([
    {
      name: 'a missing file',
      credential: () => ({ kind: 'secret_file' as const, path: '/nowhere/secret' }),
      says: 'cannot be read'
    },
    { name: 'an empty file', credential: () => ({ kind: 'secret_file' as const, path: file('\n') }), says: 'is empty' },
    {
      name: 'no key',
      credential: () => ({ kind: 'private_key_file' as const, path: file('SECRET') }),
      says: 'is not a private key'
    },
    {
      name: 'a key of another curve',
      credential: () => ({
        kind: 'private_key_file' as const,
        path: file(pem(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey))
      }),
      says: 'is not a private key for RS256, ES256, ES384, ES512 or EdDSA'
    }
  ])('with $name stops the start with a line that names the provider, and no content', ({ credential, says }) => {
    expect(() => load(credential())).toThrow(expect.objectContaining({ message: expect.stringContaining(says) }))
    expect(() => load(credential())).toThrow(/^SIGN_IN_PROVIDERS: provider corp: (?!.*SECRET)/)
  })
})
