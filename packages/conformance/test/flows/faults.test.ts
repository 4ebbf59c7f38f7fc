import { describe, expect, test } from '@jest/globals'
import { checks } from '../../src/checks/checks.js'
import type { Profile } from '../../src/outcome.js'
import type { Report } from '../../src/run-checks.js'
import { faults } from '../support/faults.js'
import { asNative, asPublic, checksOf, confidential, runAgainst } from '../support/run.js'

const ids = checks.map(({ id }) => id)

/** Rotation of confidential clients is a rule of `valetkey` only. */
const profileOf = (check: string): Profile => {
  if (check.startsWith('fapi-')) return 'fapi2'
  return check.startsWith('refresh-') ? 'valetkey' : 'oauth2.1'
}

/** Refresh tokens of public clients are bound to a key. */
const ofPublicClients = ['dpop-refresh-key', 'dpop-refresh-proof']
const clientsOf = (check: string) => (ofPublicClients.includes(check) ? asPublic : confidential)

function notPassed({ results }: Report): Record<string, string> {
  const others = results.filter(({ status }) => status !== 'passed')
  return Object.fromEntries(others.map(({ check, status, message }) => [check.id, `${status}: ${message}`]))
}

test('every check has a fault, and every fault its own text', () => {
  expect(faults.map(({ check }) => check).sort()).toEqual([...ids].sort())
  expect(new Set(faults.map(({ fault }) => fault)).size).toBe(faults.length)
})

describe('a server without fault', () => {
  const withSecret = checks.filter(({ needs = [] }) => needs.includes('secret')).map(({ id }) => id)
  const withoutSecret = Object.fromEntries(withSecret.map((id) => [id, 'skipped: needs a client with client_secret']))

  test('passes every check, with a public client', async () => {
    expect(notPassed(await runAgainst({ clients: asPublic }))).toEqual(withoutSecret)
  })

  test('passes every check, with a redirect URI without host and path (RFC 8252 §7.1)', async () => {
    expect(notPassed(await runAgainst({ clients: asNative }))).toEqual({
      ...withoutSecret,
      'authorize-redirect-uri-host': 'skipped: the redirect URI of the client has no such part',
      'authorize-redirect-uri-path': 'skipped: the redirect URI of the client has no such part',
      'authorize-loopback-port': expect.stringMatching(/^skipped: /)
    })
  })

  test('passes every check, with a confidential client; rotation is not required of it', async () => {
    const rotation = ['refresh-rotation', 'refresh-reuse', 'refresh-reuse-ends-grant', ...ofPublicClients]
    const skipped = rotation.map((id) => [id, 'skipped: concerns public clients'])
    expect(notPassed(await runAgainst({ clients: confidential }))).toEqual(Object.fromEntries(skipped))
  })

  test('passes every check of the profile valetkey', async () => {
    expect(notPassed(await runAgainst({ profile: 'valetkey' }))).toEqual({
      'authorize-pkce-required': 'skipped: concerns public clients',
      'dpop-refresh-key': 'skipped: concerns public clients',
      'dpop-refresh-proof': 'skipped: concerns public clients'
    })
  })
})

test('a server without fault under fapi2 passes the checks of this profile that need no secret', async () => {
  const { results } = await runAgainst({ profile: 'fapi2', only: ids.filter((id) => id.startsWith('fapi-')) })
  expect(results.map(({ status }) => status)).toEqual(Array(5).fill('passed'))
})

describe('a server that', () => {
  test.each(faults)('$fault fails $check', async ({ check, fault }) => {
    const { results } = await runAgainst({ fault, only: [check], profile: profileOf(check), clients: clientsOf(check) })
    expect(results.map(({ status, message }) => ({ status, message }))).toEqual([
      { status: 'failed', message: expect.stringMatching(/./) }
    ])
  })
})

test('without client and sign-in, what needs them is skipped, and nothing fails', async () => {
  const { results } = await runAgainst({ clients: undefined, signsIn: false })
  const passed = results.filter(({ status }) => status === 'passed').map(({ check }) => check.id)
  const withoutNeeds = checksOf()
    .filter(({ needs = [] }) => needs.every((need) => need === 'resource'))
    .map(({ id }) => id)
  expect(passed).toEqual(withoutNeeds)
  expect(results.filter(({ status }) => status !== 'passed').every(({ status }) => status === 'skipped')).toBe(true)
})
