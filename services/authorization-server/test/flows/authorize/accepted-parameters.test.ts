import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AUDIENCE, ISSUER } from '../../support/authorization-server.js'
import {
  type AuthorizeCase,
  type AuthorizeCases,
  OTHER_AUDIENCE,
  openAuthorizeCases,
  S256
} from '../../support/authorize-cases.js'

let cases: AuthorizeCases

beforeAll(async () => {
  cases = await openAuthorizeCases()
})
afterAll(() => cases.close())

const ACCEPTED: readonly AuthorizeCase[] = [
  { name: 'only required parameters and state' },
  { name: 'an optional scope alone', change: { scope: 'files.read:images' } },
  { name: 'all scopes', change: { scope: 'files.read:images files.read' } },
  { name: 'one scope named twice', change: { scope: 'files.read files.read' } },
  { name: 'an S256 challenge', change: S256 },
  { name: 'an S256 challenge, public client', client: 'public', change: S256 },
  { name: 'an S256 challenge, client that requires PKCE', client: 'pkce', change: S256 },
  { name: 'an empty challenge and an empty method', change: { code_challenge: '', code_challenge_method: '' } },
  { name: 'the default resource by name', change: { resource: AUDIENCE } },
  { name: 'the default resource with a slash', change: { resource: `${AUDIENCE}/` } },
  { name: 'another registered resource', change: { resource: OTHER_AUDIENCE, scope: 'photos.read' } },
  { name: 'a scope of another API without resource', change: { scope: 'photos.read' } },
  { name: 'no scope, and a resource with a default scope', change: { resource: OTHER_AUDIENCE, scope: undefined } },
  { name: 'an empty resource', change: { resource: '' } },
  { name: 'no state', change: { state: undefined } },
  { name: 'an empty second state', appended: '&state=' },
  { name: 'an unknown parameter', appended: '&foo=bar' },
  { name: 'an unknown parameter, repeated', appended: '&foo=1&foo=2' },
  { name: 'an unknown parameter that is malformed', appended: '&foo=%00%FF%zz' },
  { name: 'an unknown parameter with a malformed name', appended: '&%zz=1&%FF=2' },
  { name: 'names of JavaScript objects', appended: '&__proto__=1&constructor=2&toString=3&__proto__[state]=4' },
  { name: 'known parameters with brackets', appended: '&scope[]=files.write&state[a]=1&response_type[]=token' },
  { name: 'known parameters in upper case', appended: '&SCOPE=files.write&State=1&Response_Type=token' },
  { name: 'ampersands and equals signs alone', appended: '&&&=&==&a&b=' },
  { name: 'prompt=login&max_age=0', appended: '&prompt=login&max_age=0' },
  { name: 'an unknown prompt', appended: '&prompt=create' },
  { name: 'a request object', appended: '&request=eyJhbGciOiJub25lIn0.e30.' },
  { name: 'a request_uri', appended: '&request_uri=https%3A%2F%2Fevil.example%2Frequest' },
  { name: 'response_mode=fragment', appended: '&response_mode=fragment' },
  { name: 'nonce, display, login_hint, ui_locales', appended: '&nonce=n&display=popup&login_hint=alice&ui_locales=de' },
  { name: 'a code_verifier', appended: `&code_verifier=${'v'.repeat(43)}` },
  { name: 'a client_secret', appended: '&client_secret=vk_cs_x' },
  { name: 'parameters named resume and again', appended: '&resume=abc&resume=def&again=abc' }
]

describe('an accepted request redirects to the sign-in page', () => {
  test.each(ACCEPTED)('$name', async (request) => {
    const answer = await cases.authorize(request)
    expect(answer.statusCode).toBe(303)
    const location = String(answer.headers.location)
    expect(location.startsWith(`${ISSUER}/login?`)).toBe(true)
    expect(location).not.toMatch(/resume|again/)
  })
})
