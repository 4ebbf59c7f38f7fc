import { expect, test } from '@jest/globals'
import { authorizationChecks } from '../../src/checks/authorization-checks.js'
import type { Received } from '../../src/http.js'
import { runChecks } from '../../src/run-checks.js'
import { confidential } from '../support/run.js'

const issuer = 'https://as.example'

/** Runs one check on a server whose every response is this page. */
async function evaluate(id: string, headers: Record<string, string>) {
  const page: Received = { status: 200, headers: new Headers({ 'content-type': 'text/html', ...headers }), body: '' }
  const run = {
    ...({ issuer, profile: 'bcp', http: async () => page, clients: confidential, signIn: undefined } as const),
    resource: undefined,
    metadata: {
      ...({ kind: 'oauth', response: page, document: {}, revocationEndpoint: undefined } as const),
      authorizationEndpoint: `${issuer}/authorize`,
      tokenEndpoint: `${issuer}/token`
    }
  }
  const selected = authorizationChecks.filter((check) => check.id === id)
  const { results } = await runChecks(selected, run, new Set())
  return results.map(({ status }) => status)
}

const csp = (policy: string) => ({ 'content-security-policy': policy })

test.each([
  { name: "frame-ancestors 'none'", headers: csp("default-src 'self'; frame-ancestors 'none'"), status: 'passed' },
  { name: 'frame-ancestors with one origin', headers: csp('frame-ancestors https://a.example'), status: 'passed' },
  { name: 'X-Frame-Options', headers: { 'x-frame-options': 'SAMEORIGIN' }, status: 'passed' },
  {
    name: 'two policies, one of them strict',
    headers: csp("frame-ancestors *, frame-ancestors 'self'"),
    status: 'passed'
  },
  { name: 'no header', headers: {}, status: 'failed' },
  { name: 'frame-ancestors *', headers: csp('frame-ancestors *'), status: 'failed' },
  { name: 'frame-ancestors https:', headers: csp("frame-ancestors 'self' https:; default-src *"), status: 'failed' },
  {
    name: 'frame-ancestors *, which makes browsers ignore X-Frame-Options',
    headers: { ...csp('frame-ancestors *'), 'x-frame-options': 'DENY' },
    status: 'failed'
  }
])('authorize-clickjacking with $name: $status (CSP 3 §6.4.2)', async ({ headers, status }) => {
  expect(await evaluate('authorize-clickjacking', headers)).toEqual([status])
})
