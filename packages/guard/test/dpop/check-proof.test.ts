import { describe, expect, jest, test } from '@jest/globals'
import { makeProof, newProofKey, type ProofOf } from '../../../dev-stack/lib/client/dpop-proof.mjs'
import { type BoundRequest, createProofChecker } from '../../src/dpop/check-proof.js'
import { type DpopOptions, readDpopOptions } from '../../src/dpop/dpop-options.js'

const KEY = newProofKey()
const SECRET = 'a secret of at least thirty-two characters'
const build = (options: DpopOptions = {}) => createProofChecker(readDpopOptions(options, 'https://api.example/mcp'))

const request = (change: Partial<BoundRequest> = {}, proof: Partial<ProofOf> = {}): BoundRequest => ({
  method: 'GET',
  url: '/files?page=2',
  proofs: [makeProof({ key: KEY, accessToken: 'abc', url: 'https://api.example/files', ...proof })],
  accessToken: 'abc',
  thumbprint: KEY.thumbprint,
  now: new Date(),
  ...change
})

describe('The target URI of a proof', () => {
  test.each<{ name: string; options?: DpopOptions; url: string | undefined; htu: string }>([
    { name: 'the origin of the resource and the path of the request', url: '/files', htu: 'https://api.example/files' },
    {
      name: 'no path for a URL that is complete',
      url: 'http://127.0.0.1:4100/files?a=b',
      htu: 'https://api.example/files'
    },
    {
      name: 'the prefix that a proxy removes',
      options: { pathPrefix: '/v1' },
      url: '/files',
      htu: 'https://api.example/v1/files'
    },
    {
      name: 'the origin of the option',
      options: { publicOrigin: 'https://public.example' },
      url: '/files',
      htu: 'https://public.example/files'
    },
    { name: 'the root without a URL', url: undefined, htu: 'https://api.example/' },
    { name: 'the root with a query only', url: '?a=b', htu: 'https://api.example' },
    {
      name: 'a path that begins with two slashes',
      url: '//evil.example/files',
      htu: 'https://api.example//evil.example/files'
    },
    { name: 'dot segments as the client resolved them', url: '/a/../files', htu: 'https://api.example/files' }
  ])('has $name', async ({ options = {}, url, htu }) => {
    expect(await build(options).check(request({ url }, { url: htu }))).toEqual({ kind: 'valid' })
  })

  test.each([
    { name: 'the asterisk of OPTIONS', url: '*' },
    { name: 'a backslash', url: '/a\\files' },
    { name: 'a relative path', url: 'files' }
  ])('does not exist for $name, so no proof is valid', async ({ url }) => {
    for (const htu of [undefined, '', url, 'https://api.example/files'])
      expect(await build().check(request({ url }, { claims: { htu } }))).toMatchObject({ reason: 'proof_htu' })
  })
})

test('A proof whose identifier a client of another key has used is valid', async () => {
  const other = newProofKey()
  const checker = build()
  const claims = { jti: 'one' }
  expect(await checker.check(request({ thumbprint: other.thumbprint }, { key: other, claims }))).toEqual({
    kind: 'valid'
  })
  expect(await checker.check(request({}, { claims }))).toEqual({ kind: 'valid' })
  expect(await checker.check(request({}, { claims }))).toMatchObject({ reason: 'proof_used' })
})

test('A proof that the process has no place to remember is refused for now, not for ever', async () => {
  const clock = jest.spyOn(performance, 'now').mockReturnValue(0)
  try {
    const checker = build({ toleranceSeconds: 1 })
    const { capacity = 0 } = checker.statistics() ?? {}
    for (let count = 0; count < capacity; count += 1) await checker.check(request())
    expect(await checker.check(request())).toEqual({ kind: 'unavailable', reason: 'replay_set_full' })
  } finally {
    clock.mockRestore()
  }
})

test('A refused proof uses no identifier up', async () => {
  const checker = build()
  const claims = { jti: 'one' }
  const forged = makeProof({
    key: { ...newProofKey(), jwk: KEY.jwk },
    accessToken: 'abc',
    url: 'https://api.example/files',
    claims
  })
  expect(await checker.check(request({ proofs: [forged] }))).toMatchObject({ reason: 'proof_signature' })
  expect(checker.statistics()?.entries).toBe(0)
  expect(await checker.check(request({}, { claims }))).toEqual({ kind: 'valid' })
})

test('One proof that arrives 50 times at once is accepted once', async () => {
  const checker = build()
  const { proofs } = request()
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => checker.check(request({ proofs }))))
  expect(outcomes.filter(({ kind }) => kind === 'valid')).toHaveLength(1)
})

test('The set holds 2,000 proofs for each second in which a proof is valid', () => {
  expect(build().statistics()).toMatchObject({ entries: 0, capacity: 1_200_000 })
  expect(build({ toleranceSeconds: 1 }).statistics()).toMatchObject({ capacity: 4_000 })
  // A nonce is accepted for four minutes.
  expect(build({ nonceKeys: [SECRET], toleranceSeconds: 1 }).statistics()).toMatchObject({ capacity: 480_000 })
})

describe('A shared store', () => {
  test('gets a name for each key and identifier, and the time for which it must remember it', async () => {
    const calls: unknown[][] = []
    const firstUse = async (...call: unknown[]) => calls.push(call) === 1
    const checker = build({ replayStore: { firstUse } })
    const claims = { jti: 'one' }
    expect(await checker.check(request({}, { claims }))).toEqual({ kind: 'valid' })
    expect(await checker.check(request({}, { claims }))).toMatchObject({ reason: 'proof_used' })
    expect(calls).toEqual([[expect.stringMatching(/^[\w-]{43}$/), 600_000], calls[0]])
    expect(checker.statistics()).toBeUndefined()
  })

  test('must remember a proof as long as its nonce is accepted, where nonces are required', async () => {
    const times: number[] = []
    const firstUse = (_key: string, ttlMs: number) => times.push(ttlMs) === 1
    const checker = build({ replayStore: { firstUse }, nonceKeys: [SECRET] })
    const first = await checker.check(request())
    expect(first).toMatchObject({ code: 'use_dpop_nonce', reason: 'proof_nonce_missing' })
    const nonce = 'nextNonce' in first ? first.nextNonce : undefined
    expect(await checker.check(request({}, { claims: { nonce } }))).toMatchObject({ kind: 'valid' })
    expect(times).toEqual([240_000])
  })

  test.each([
    { name: 'fails', firstUse: () => Promise.reject(new Error('away')) },
    {
      name: 'throws',
      firstUse: () => {
        throw new Error('away')
      }
    }
  ])('that $name makes the request unavailable', async ({ firstUse }) => {
    const outcome = await build({ replayStore: { firstUse } }).check(request())
    expect(outcome).toMatchObject({ kind: 'unavailable', reason: 'replay_store', error: { message: 'away' } })
  })

  test('that does not respond makes the request unavailable', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] })
    let asked = () => {}
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    const firstUse = () => {
      asked()
      return new Promise<boolean>(() => {})
    }
    const outcome = build({ replayStore: { firstUse } }).check(request())
    await isAsked
    jest.runAllTimers()
    expect(await outcome).toMatchObject({ kind: 'unavailable', reason: 'replay_store' })
    jest.useRealTimers()
  })

  test.each([null, undefined, 0, ''])('that returns %j has seen the proof', async (answer) => {
    const firstUse = async () => answer as unknown as boolean
    expect(await build({ replayStore: { firstUse } }).check(request())).toMatchObject({ reason: 'proof_used' })
  })
})
