import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { isLoopback } from '@valetkey/service-kit'
import { readProviders } from '@valetkey/sign-in-rules'
import { examineProviders } from '../../../../src/features/foreign-sign-in/providers/examine-providers.js'
import { type ForgingProvider, startForgingProvider } from '../../../support/forging-provider.js'
import { providerSetting } from '../../../support/provider-sign-in.js'

describe('doctor on providers', () => {
  let provider: ForgingProvider
  beforeAll(async () => {
    provider = await startForgingProvider()
  })
  afterAll(() => provider.close())

  const examine = (change: Record<string, unknown> = {}) =>
    examineProviders(readProviders(JSON.stringify([providerSetting(provider, change)]), isLoopback).providers)

  test('reports a provider that responds as ok, and nothing without providers', async () => {
    expect(await examine()).toEqual([expect.objectContaining({ check: 'sign-in provider forger', severity: 'ok' })])
    expect(await examineProviders([])).toEqual([])
  })

  test('warns about a provider that does not respond or has another issuer; neither is fatal', async () => {
    provider.answers({ '/.well-known/openid-configuration': { status: 503 } })
    expect(await examine()).toEqual([
      expect.objectContaining({ severity: 'warning', what: 'does not respond (http_5xx)' })
    ])
    provider.answers({})
    provider.announces({ issuer: 'https://other.example' })
    expect(await examine()).toEqual([
      expect.objectContaining({ severity: 'warning', what: 'its metadata cannot be used (wrong_issuer)' })
    ])
  })

  test('names a secret that cannot be read', () => {
    const change = { client_secret: undefined, client_secret_file: '/nowhere/secret' }
    expect(() => examine(change)).toThrow('provider forger: the file /nowhere/secret cannot be read')
  })
})
