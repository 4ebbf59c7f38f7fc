import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { isLoopback } from '@valetkey/service-kit'
import { readProviders } from '@valetkey/sign-in-rules'
import { boundedFetch } from '../../../../src/features/foreign-sign-in/providers/bounded-fetch.js'
import { createDiscovery } from '../../../../src/features/foreign-sign-in/providers/provider-discovery.js'
import { type ForgingProvider, startForgingProvider } from '../../../support/forging-provider.js'
import { providerSetting } from '../../../support/provider-sign-in.js'

const DOCUMENT = '/.well-known/openid-configuration'

describe('metadata of a provider', () => {
  let provider: ForgingProvider
  let time = 0
  let discovered: ReturnType<typeof createDiscovery>

  beforeEach(async () => {
    time = 1_000_000
    provider = await startForgingProvider()
    const [settings] = readProviders(JSON.stringify([providerSetting(provider)]), isLoopback).providers
    if (settings === undefined) throw new Error('the setting is wrong')
    discovered = createDiscovery(
      settings,
      { kind: 'secret', value: 'secret' },
      { send: fetch, readKeys: boundedFetch },
      () => time
    )
  })

  afterEach(() => provider.close())

  const reads = () => provider.requests.filter(({ path }) => path === DOCUMENT).length

  test('is read when it is first needed, once for concurrent callers, and again after an hour', async () => {
    expect(reads()).toBe(0)
    const all = await Promise.all([discovered(), discovered(), discovered()])
    expect([new Set(all).size, reads()]).toEqual([1, 1])
    time += 3_599_000
    await discovered()
    expect(reads()).toBe(1)
    time += 2_000
    await discovered()
    expect(reads()).toBe(2)
  })

  test('that cannot be read again is replaced by the last good one, and the next attempt is a minute later', async () => {
    const good = await discovered()
    provider.answers({ [DOCUMENT]: { status: 500 } })
    time += 3_601_000
    expect(await discovered()).toBe(good)
    expect(await discovered()).toBe(good)
    expect(reads()).toBe(2)
    time += 61_000
    provider.answers({})
    expect(await discovered()).not.toBe(good)
  })

  test('that was never read is requested again a second after a failure', async () => {
    provider.answers({ [DOCUMENT]: { status: 500 } })
    await expect(discovered()).rejects.toThrow()
    await expect(discovered()).rejects.toThrow()
    expect(reads()).toBe(1)
    provider.answers({})
    time += 1_001
    expect((await discovered()).serverMetadata().issuer).toBe(provider.issuer)
  })
})
