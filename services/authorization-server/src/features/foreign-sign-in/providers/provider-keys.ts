import { createRemoteJWKSet, customFetch } from 'jose'
import type { Configuration } from 'openid-client'
import type { boundedFetch } from './bounded-fetch.js'

export type ProviderKeys = () => Promise<ReturnType<typeof createRemoteJWKSet>>

/** The key set responded with another status than 200; the response is the cause. */
export class UnreadableKeys extends Error {
  override name = 'UnreadableKeys'
}

const TIMEOUT_MS = 5_000

/** The keys of one provider, read when they are first needed; an unknown key reads them again. */
export function createProviderKeys(
  discovered: () => Promise<Configuration>,
  readKeys: typeof boundedFetch
): ProviderKeys {
  let known: { uri: string; find: ReturnType<typeof createRemoteJWKSet> } | undefined

  async function fetchKeys(url: string, options: RequestInit): Promise<Response> {
    const response = await readKeys(url, options)
    if (response.status === 200) return response
    throw new UnreadableKeys(`the key set responded with ${response.status}`, { cause: response })
  }

  return async () => {
    const uri = (await discovered()).serverMetadata().jwks_uri ?? ''
    if (known?.uri !== uri) {
      const options = { timeoutDuration: TIMEOUT_MS, [customFetch]: fetchKeys }
      known = { uri, find: createRemoteJWKSet(new URL(uri), options) }
    }
    return known.find
  }
}
