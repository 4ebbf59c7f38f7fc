import { describe, expect, test } from '@jest/globals'
import { parseParameters } from '@valetkey/oauth-protocol'
import type { FastifyRequest } from 'fastify'
import { checkForm } from '../../../src/browser/csrf/check-form.js'
import { createCsrfToken } from '../../../src/browser/csrf/csrf-token.js'

const ISSUER = 'http://localhost:4000'
const KEYS = ['a key for tests of at least 32 characters']
const OWN = { origin: ISSUER, 'sec-fetch-site': 'same-origin' }
const FOREIGN = 'https://evil.example'

const owner = { browserId: 'browser-1', sessionHash: 'session-1' }
const token = createCsrfToken(KEYS, owner)

type Sent = {
  headers?: Record<string, string>
  form?: string
  browserId?: string
  browserIsKnown?: boolean
  sessionHash?: string | undefined
}

function check({ headers = {}, form = `csrf_token=${token}`, ...sender }: Sent) {
  const { sessionHash, ...browser } = { ...owner, browserIsKnown: true, ...sender }
  const signedIn = sessionHash === undefined ? undefined : { sessionHash }
  const request = { headers, body: parseParameters(form), ...browser, signedIn }
  return checkForm(request as unknown as FastifyRequest, { issuer: ISSUER, cookieKeys: KEYS })
}

describe('a form with a valid token', () => {
  test.each<{ name: string; headers: Record<string, string> }>([
    { name: 'neither header', headers: {} },
    { name: 'our Origin', headers: { origin: ISSUER } },
    { name: 'our Origin and same-origin', headers: OWN },
    { name: 'same-origin alone', headers: { 'sec-fetch-site': 'same-origin' } }
  ])('$name: own', ({ headers }) => {
    expect(check({ headers })).toBe('own')
  })

  test.each([
    FOREIGN,
    '',
    'https://localhost:4000',
    'http://localhost',
    'http://localhost:4001',
    'http://127.0.0.1:4000',
    'http://localhost:4000.evil.example',
    'http://localhost:4000/',
    'HTTP://LOCALHOST:4000',
    'http://localhost:4000, https://evil.example'
  ])('Origin "%s": foreign, with any Sec-Fetch-Site', (origin) => {
    expect(check({ headers: { origin } })).toBe('foreign')
    expect(check({ headers: { ...OWN, origin } })).toBe('foreign')
  })

  test('Origin null: own only with Sec-Fetch-Site same-origin, as of a page with Referrer-Policy no-referrer', () => {
    expect(check({ headers: { ...OWN, origin: 'null' } })).toBe('own')
    expect(check({ headers: { origin: 'null' } })).toBe('foreign')
  })

  test.each(['cross-site', 'same-site', 'none', '', 'SAME-ORIGIN'])(
    'Sec-Fetch-Site "%s": foreign, with any Origin',
    (site) => {
      expect(check({ headers: { 'sec-fetch-site': site } })).toBe('foreign')
      expect(check({ headers: { origin: ISSUER, 'sec-fetch-site': site } })).toBe('foreign')
    }
  )
})

describe('a form without a valid token: stale with our Origin, else foreign', () => {
  test.each<Sent & { name: string }>([
    { name: 'no token', form: '' },
    { name: 'an empty token', form: 'csrf_token=' },
    { name: 'a wrong token', form: `csrf_token=${'A'.repeat(43)}` },
    { name: 'a token of another length', form: `csrf_token=${'A'.repeat(42)}` },
    { name: 'a token of letters outside ASCII', form: `csrf_token=${encodeURIComponent('é'.repeat(43))}` },
    { name: 'the token under other names', form: `_csrf=${token}&csrf_token[]=${token}` },
    { name: 'the token twice', form: `csrf_token=${token}&csrf_token=${token}` },
    { name: 'the token of another browser', browserId: 'browser-2' },
    { name: 'a browser without a valid cookie', browserIsKnown: false },
    { name: 'the token of another session', sessionHash: 'session-2' },
    { name: 'the token of a session that has ended', sessionHash: undefined }
  ])('$name', (sent) => {
    expect(check({ ...sent, headers: OWN })).toBe('stale')
    expect(check({ ...sent, headers: { origin: ISSUER } })).toBe('stale')
    expect(check(sent)).toBe('foreign')
    expect(check({ ...sent, headers: { 'sec-fetch-site': 'same-origin' } })).toBe('foreign')
  })
})
