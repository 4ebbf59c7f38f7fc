import { createRemoteJWKSet, customFetch } from 'jose'
import type { Configuration } from 'openid-client'
import { boundedFetch } from './bounded-fetch.js'

export type ProviderKeys = () => Promise<ReturnType<typeof createRemoteJWKSet>>

/** The key set responded with another status than 200; the response is the cause. */
export class UnreadableKeys extends Error {
  override name = 'UnreadableKeys'
}

const TIMEOUT_MS = 5_000

/** The keys of one provider, read when they are first needed; an unknown key reads them again. */
export function createProviderKeys(discovered: () => Promise<Configuration>): ProviderKeys {
  let known: { uri: string; find: ReturnType<typeof createRemoteJWKSet> } | undefined
  return async () => {
    const uri = (await discovered()).serverMetadata().jwks_uri ?? ''
    if (known?.uri !== uri) {
      known = { uri, find: createRemoteJWKSet(new URL(uri), { timeoutDuration: TIMEOUT_MS, [customFetch]: fetchKeys }) }
    }
    return known.find
  }
}

async function fetchKeys(url: string, options: RequestInit): Promise<Response> {
  const response = await boundedFetch(url, options)
  if (response.status === 200) return response
  throw new UnreadableKeys(`the key set responded with ${response.status}`, { cause: response })
}
