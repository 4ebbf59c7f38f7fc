import { describe, expect, test } from '@jest/globals'
import { evaluateFapi2 } from '../../../src/features/fapi2/evaluate-fapi2.js'
import { newClient } from '../../../src/operator/use-cases/client-settings.js'
import type { ClientRegistration } from '../../../src/storage/postgres/clients.js'
import { UNDER_FAPI2 } from './support/profiled-client.js'

type Settings = Parameters<typeof evaluateFapi2>[0]

const NONE: Settings = { profile: 'none', dpop: 'allowed', pushedRequests: 'allowed' }
const FAPI2: Settings = { profile: 'fapi2', dpop: 'required', pushedRequests: 'required' }
const MARKED = { audience: 'https://marked.example', title: 'Marked', dpop: 'allowed' } as const
const UNMARKED = { audience: 'https://plain.example', title: 'Plain', dpop: undefined } as const

const other = (clientId: string, change: Partial<ClientRegistration> = {}): ClientRegistration => ({
  ...newClient(clientId, 'confidential'),
  createdAt: new Date(0),
  ...change
})
const under = (clientId: string, change: Partial<ClientRegistration> = {}) =>
  other(clientId, { ...UNDER_FAPI2, privateKeyJwt: 'required', ...change })

/** What the findings say, in order; empty: all is well. */
const problems = (...args: Parameters<typeof evaluateFapi2>) =>
  evaluateFapi2(...args).flatMap((finding) => (finding.severity === 'ok' ? [] : [finding.what]))

describe('doctor', () => {
  test.each<{ name: string; args: Parameters<typeof evaluateFapi2> }>([
    { name: 'no client is under a profile', args: [{ ...NONE, dpop: 'off' }, [UNMARKED], [other('a')]] },
    { name: 'all fits', args: [NONE, [MARKED], [under('a'), other('b')]] },
    { name: 'the server has no other clients', args: [FAPI2, [MARKED], [under('a'), other('b', { disabled: true })]] },
    {
      name: 'the client is limited to APIs that check proofs',
      args: [NONE, [MARKED, UNMARKED], [under('a', { audiences: [MARKED.audience] })]]
    }
  ])('finds nothing when $name', ({ args }) => {
    expect(problems(...args)).toEqual([])
  })

  test('names settings that are off', () => {
    const found = problems({ profile: 'none', dpop: 'off', pushedRequests: 'off' }, [MARKED], [under('a')])
    expect(found).toEqual([expect.stringContaining('DPOP is off'), expect.stringContaining('PUSHED_REQUESTS is off')])
  })

  test('names each API that checks no proofs', () => {
    const found = problems(NONE, [MARKED, UNMARKED], [under('a')])
    expect(found).toEqual([expect.stringContaining(UNMARKED.audience)])
  })

  test('names each other client of a server under the profile, with all that it lacks', () => {
    const found = problems(
      FAPI2,
      [MARKED],
      [under('a'), other('b'), other('c', { ...UNDER_FAPI2, profile: undefined })]
    )
    expect(found).toEqual([
      expect.stringMatching(
        /b is not under it: auth_method .*require_pkce .*require_par .*dpop_bound.*refresh_rotation/
      ),
      expect.stringMatching(/c is not under it: auth_method [^;]*$/m)
    ])
  })

  test('names ten clients and counts the rest', () => {
    const found = problems(
      FAPI2,
      [MARKED],
      Array.from({ length: 12 }, (_, index) => other(`c${index}`))
    )
    expect(found).toHaveLength(11)
    expect(found[10]).toContain('2 more clients')
  })
})
