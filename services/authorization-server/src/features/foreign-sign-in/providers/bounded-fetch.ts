import type { Fetch } from './proxied-fetch.js'

/** Metadata, keys, tokens and claims have kilobytes. */
const MOST_BYTES = 1024 * 1024

/** A provider sent more than any response needs. */
export class ResponseTooLarge extends Error {
  override name = 'ResponseTooLarge'
}

/**
 * `fetch` for requests to providers, which reads at most 1 MiB: a provider that sends without end must not fill the memory within
 * the time-out.
 */
export async function boundedFetch(url: string, options: RequestInit, send: Fetch = fetch): Promise<Response> {
  const response = await send(url, options)
  if (response.body === null) return response
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body) {
    bytes += part.byteLength
    // Leaving the loop closes the connection.
    if (bytes > MOST_BYTES) throw new ResponseTooLarge()
    parts.push(part)
  }
  const { status, statusText, headers } = response
  // One of this realm: the library tests the class, and that of a proxy has another.
  return new Response(Buffer.concat(parts), { status, statusText, headers: [...headers] })
}
