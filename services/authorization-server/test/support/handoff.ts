import { generateKeyPairSync, randomUUID } from 'node:crypto'
import type { Environment } from '@valetkey/service-kit'
import { SignJWT } from 'jose'
import { ISSUER, type TestServer } from './authorization-server.js'
import type { Browser, Page } from './browser.js'

export const LOGIN_PAGE = 'https://login.example/sign-in'
export const LOGIN_ISSUER = 'https://login.example'

export const es256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
export const ed25519 = generateKeyPairSync('ed25519')

/** A login page with two keys, as during a rotation. */
export const HANDOFF: Environment = {
  LOGIN_HANDOFF_URL: LOGIN_PAGE,
  LOGIN_HANDOFF_ISSUER: LOGIN_ISSUER,
  LOGIN_HANDOFF_LABEL: 'Example Login',
  LOGIN_HANDOFF_KEYS: JSON.stringify({
    keys: [es256, ed25519].map(({ publicKey }) => publicKey.export({ format: 'jwk' }))
  })
}

type Signing = {
  key?: typeof es256.privateKey
  alg?: string
  header?: Record<string, unknown>
  /** Seconds since 1970; the time of the test by default. */
  issuedAt?: number
}

/** The assertion of a login page that does everything right, except for what the test changes. */
export function signAssertion(
  claims: Record<string, unknown>,
  { key = es256.privateKey, alg = 'ES256', header = {}, issuedAt = Math.floor(Date.now() / 1000) }: Signing = {}
): Promise<string> {
  const valid = {
    iss: LOGIN_ISSUER,
    aud: ISSUER,
    sub: 'person-1',
    jti: randomUUID(),
    iat: issuedAt,
    exp: issuedAt + 60,
    auth_time: issuedAt
  }
  return new SignJWT({ ...valid, ...claims })
    .setProtectedHeader({ alg, typ: 'valetkey-login+jwt', ...header })
    .sign(key)
}

export const callbackUrl = (assertion: string): string => `${ISSUER}/login/handoff/callback?assertion=${assertion}`

/** Follows the start as far as the login page. @returns the address there */
export async function startHandoff(browser: Browser, url = `${ISSUER}/login/handoff`): Promise<URL> {
  const page = await browser.open(url)
  const location = new URL(String(page.headers.location))
  if (!location.href.startsWith(LOGIN_PAGE)) throw new Error(`no login page: ${page.statusCode} ${location.href}`)
  return location
}

export const requestIdOf = (loginPage: URL): string => loginPage.searchParams.get('request') ?? ''

/** Signs a user in through the login page. */
export async function passHandoff(
  browser: Browser,
  claims: Record<string, unknown>,
  start = `${ISSUER}/login/handoff`
): Promise<Page> {
  const nonce = requestIdOf(await startHandoff(browser, start))
  return browser.open(callbackUrl(await signAssertion({ nonce, ...claims })))
}

/** Links an identity as an operator does, without an audit entry. */
export async function insertIdentity(
  { database }: Pick<TestServer, 'database'>,
  userId: string,
  subject: string,
  issuer = LOGIN_ISSUER
): Promise<void> {
  await database.query({
    name: 'test_insert_identity',
    text: 'insert into identities (issuer, subject, user_id, created_at) values ($1, $2, $3, now())',
    values: [issuer, subject, userId]
  })
}
