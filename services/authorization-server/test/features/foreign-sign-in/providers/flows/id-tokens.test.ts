import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { ISSUER, startTestServer, type TestServer } from '../../../../support/authorization-server.js'
import { Browser } from '../../../../support/browser.js'
import { type ForgedToken, type ForgingProvider, startForgingProvider } from '../../../../support/forging-provider.js'
import { startInstance } from '../../../../support/instance.js'
import { collectLog } from '../../../../support/log-lines.js'
import {
  callbackUrl,
  depart,
  providerSetting,
  providersSetting,
  signedInUser,
  signInWith
} from '../../../../support/provider-sign-in.js'

/** A signing key; that of the provider has neither kid nor alg. */
async function newKey(alg: string) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { key: privateKey, jwk: await exportJWK(publicKey) }
}

describe('ID token of a provider', () => {
  let provider: ForgingProvider
  let server: TestServer
  const log = collectLog()

  beforeAll(async () => {
    provider = await startForgingProvider()
    server = await startTestServer(providersSetting(providerSetting(provider)), log.logger)
  })

  beforeEach(() => {
    log.lines.length = 0
  })

  afterAll(async () => {
    await server?.close()
    await provider?.close()
  })

  const now = () => Math.floor(Date.now() / 1000)
  const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const withHeader = (alg: string) => (claims: object) => `${base64({ alg })}.${base64(claims)}.`

  type Case = { name: string; reason: string; token: (nonce: string) => ForgedToken | Promise<ForgedToken> }
  const cases: Case[] = [
    { name: 'another aud', reason: 'wrong_aud', token: (nonce) => ({ claims: { nonce, aud: 'another client' } }) },
    {
      name: 'another iss',
      reason: 'wrong_iss',
      token: (nonce) => ({ claims: { nonce, iss: 'https://evil.example' } })
    },
    {
      name: 'several aud and azp of another client',
      reason: 'wrong_azp',
      token: (nonce) => ({ claims: { nonce, aud: ['valetkey-at-forger', 'other'], azp: 'other' } })
    },
    {
      name: 'several aud without azp',
      reason: 'wrong_aud',
      token: (nonce) => ({ claims: { nonce, aud: ['valetkey-at-forger', 'other'] } })
    },
    {
      name: 'exp 31 s ago',
      reason: 'wrong_exp',
      token: (nonce) => ({ claims: { nonce, iat: now() - 90, exp: now() - 31 } })
    },
    { name: 'iat in a minute', reason: 'wrong_iat', token: (nonce) => ({ claims: { nonce, iat: now() + 60 } }) },
    {
      name: 'an unknown kid',
      reason: 'unknown_key',
      token: (nonce) => ({ claims: { nonce }, header: { kid: 'new' } })
    },
    {
      name: 'alg none',
      reason: 'wrong_alg',
      token: (nonce) => ({ claims: { nonce }, sign: withHeader('none') })
    },
    {
      name: 'no signature',
      reason: 'bad_signature',
      token: (nonce) => ({
        claims: { nonce },
        sign: (claims, { kid }) => `${base64({ alg: 'RS256', kid })}.${base64(claims)}.`
      })
    },
    {
      name: 'HS256 with the public key as the secret',
      reason: 'wrong_alg',
      token: async (nonce) => {
        const secret = new TextEncoder().encode(await exportSPKI(provider.publicKey))
        const sign = (claims: object) => new SignJWT({ ...claims }).setProtectedHeader({ alg: 'HS256' }).sign(secret)
        return { claims: { nonce }, sign }
      }
    },
    {
      name: 'the signature of another key',
      reason: 'bad_signature',
      token: (nonce) => ({
        claims: { nonce },
        sign: (claims, header) => new SignJWT({ ...claims }).setProtectedHeader(header).sign(otherKey)
      })
    },
    {
      name: 'a sub of 256 characters',
      reason: 'wrong_sub',
      token: (nonce) => ({ claims: { nonce, sub: 'a'.repeat(256) } })
    },
    // Postgres cannot store the first, and would store the second as the subject of any other lone surrogate.
    { name: 'a sub with NUL', reason: 'wrong_sub', token: (nonce) => ({ claims: { nonce, sub: 'a\u0000' } }) },
    {
      name: 'a sub with half a character',
      reason: 'wrong_sub',
      token: (nonce) => ({ claims: { nonce, sub: '\ud800' } })
    },
    { name: 'an empty sub', reason: 'wrong_sub', token: (nonce) => ({ claims: { nonce, sub: '' } }) }
  ]

  test.each(cases)(
    'with $name is refused with the page for the operator and the reason $reason (OpenID Connect Core §3.1.3.7)',
    async ({ token, reason }) => {
      const browser = server.newBrowser()
      const { state, nonce } = await depart(browser)
      provider.signs(await token(nonce))
      const page = await browser.get(callbackUrl({ code: 'a code', state }))
      expect([page.statusCode, page.headers['set-cookie']]).toEqual([500, undefined])
      expect(page.body).toContain('is not set up correctly')
      expect(log.lines).toContainEqual(
        expect.objectContaining({ event: 'provider_failed', level: 'error', provider: 'forger', reason })
      )
      expect(log.lines).toContainEqual(expect.objectContaining({ event: 'sign_in_failed', reason }))
      expect(await signedInUser(browser)).toBeUndefined()
    }
  )

  test.each([
    { name: 'null', key: () => null, skipped: { reason: 'not_an_object' } },
    { name: 'a text', key: () => 'key', skipped: { reason: 'not_an_object' } },
    {
      name: 'a key of the same kid without its members',
      key: () => ({ kty: 'RSA', kid: 'first', alg: 'RS256', use: 'sig', e: 'AQAB' }),
      skipped: { kid: 'first', reason: 'not_a_public_key' }
    },
    {
      name: 'a symmetric key',
      key: () => ({ kty: 'oct', k: 'c2VjcmV0', kid: 'first' }),
      skipped: { kid: 'first', reason: 'not_a_public_key' }
    },
    {
      name: 'a key of an unknown type',
      key: () => ({ kty: 'AKP', alg: 'ML-DSA-44', pub: 'x', kid: 'pq' }),
      skipped: { kid: 'pq', reason: 'not_a_public_key' }
    }
  ])('is accepted beside $name in the key set, which is logged (RFC 7517 §5)', async ({ key, skipped }) => {
    const other = await startForgingProvider()
    other.answers({ '/jwks': { body: { keys: [key(), other.jwk, key()] } } })
    const fresh = await startTestServer(providersSetting(providerSetting(other)), log.logger)
    const browser = fresh.newBrowser()
    const { state, nonce } = await depart(browser)
    other.signs({ claims: { nonce } })
    const page = await browser.get(callbackUrl({ code: 'a code', state }))
    expect(page.headers.location).toBe('http://localhost:4000/account/apps')
    expect(log.lines).toContainEqual(
      expect.objectContaining({ event: 'provider_key_skipped', provider: 'forger', ...skipped })
    )
    const payload = new URLSearchParams({ logout_token: await other.logoutToken({ claims: { sub: 'x' } }) }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const logout = await fresh.publicServer.inject({
      method: 'POST',
      url: '/login/with/forger/logout',
      headers,
      payload
    })
    expect(logout.statusCode).toBe(200)
    await fresh.close()
    await other.close()
  })

  test.each([
    { name: 'another nonce', reason: 'wrong_nonce', nonce: 'of another sign-in' },
    { name: 'no nonce', reason: 'unexpected_response', nonce: undefined }
  ])(
    'with $name is refused without a 5xx and an error in the log, because any person can send such a code (OpenID Connect Core §3.1.3.7)',
    async ({ reason, nonce }) => {
      const browser = server.newBrowser()
      const { state } = await depart(browser)
      provider.signs({ claims: { nonce } })
      log.lines.length = 0
      const page = await browser.get(callbackUrl({ code: 'a code', state }))
      expect([page.statusCode, page.headers['set-cookie']]).toEqual([400, undefined])
      expect(log.lines.filter(({ level }) => level === 'error')).toEqual([])
      expect(log.lines).toContainEqual(expect.objectContaining({ event: 'sign_in_failed', reason }))
      expect(await signedInUser(browser)).toBeUndefined()
    }
  )

  const rsa = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']

  test.each([...rsa, 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'])(
    'signed with %s signs in, also if it is not announced and has no kid',
    async (alg) => {
      const { key, jwk } = await newKey(alg)
      provider.answers({ '/jwks': { body: { keys: [jwk] } } })
      const fresh = await startInstance(server)
      const browser = new Browser(fresh.publicServer, ISSUER)
      const { state, nonce } = await depart(browser)
      const sign = (claims: JWTPayload) => new SignJWT(claims).setProtectedHeader({ alg }).sign(key)
      provider.signs({ claims: { nonce, sub: alg }, sign })
      const page = await browser.get(callbackUrl({ code: 'a code', state }))
      expect([page.statusCode, page.headers.location]).toEqual([303, `${ISSUER}/account/apps`])
      await fresh.close()
      provider.answers({})
    }
  )

  test.each([
    { auth_time: '1700000000', signsIn: true },
    { auth_time: '1700000000.5', signsIn: true },
    { auth_time: 'yesterday', signsIn: true },
    { auth_time: null, signsIn: true },
    { auth_time: -1, signsIn: true },
    { auth_time: '99999999999', signsIn: false }
  ])('with auth_time $auth_time signs in: $signsIn', async ({ auth_time, signsIn }) => {
    const page = await signInWith(provider, server.newBrowser(), { claims: { auth_time } })
    expect(page.statusCode).toBe(signsIn ? 303 : 500)
  })

  test('that is valid signs in, also if it expired 20 s ago on our clock', async () => {
    const browser = server.newBrowser()
    const { state, nonce } = await depart(browser)
    provider.signs({ claims: { nonce, iat: now() - 60, exp: now() - 20 } })
    const page = await browser.get(callbackUrl({ code: 'a code', state }))
    expect(page.headers.location).toBe('http://localhost:4000/account/apps')
    expect(await signedInUser(browser)).toMatch(/^user-/)
  })

  test('is in no log line, and neither are code, state and access token', async () => {
    const browser = server.newBrowser()
    const { state, nonce } = await depart(browser)
    provider.signs({ claims: { nonce, aud: 'another client' } })
    await browser.get(callbackUrl({ code: 'the-code-of-this-test', state }))
    expect(log.text()).not.toMatch(/the-code-of-this-test|eyJ[\w-]+\.|an upstream access token/)
    expect(log.text()).not.toContain(state)
  })
})
