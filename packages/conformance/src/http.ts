import { setTimeout as wait } from 'node:timers/promises'
import { CouldNotTest } from './outcome.js'

/** Pages of servers are smaller; a larger response ends the check. */
const MAX_BODY_BYTES = 1_048_576

export type Sent = { method: 'GET' | 'POST'; url: string; headers: Record<string, string>; body?: string }
export type Received = { status: number; headers: Headers; body: string }
export type Exchange = { request: Sent; response?: Received }

/** Sends one request and follows no redirect. Adds both messages to `record`. */
export type Http = (request: Sent, record: Exchange[]) => Promise<Received>

export type HttpOptions = {
  /** Why a URL must not be called; undefined if it may. */
  refuse: (url: URL) => string | undefined
  /** The highest number of requests a second. */
  rate: number
  /** The time limit of one request with its whole response. */
  timeLimitMs: number
}

/** Every request of the program goes through here: allowed URLs only, a rate limit, a time limit, a limit of size. */
export function createHttp({ refuse, rate, timeLimitMs }: HttpOptions): Http {
  let nextAt = 0

  async function waitForTurn(): Promise<void> {
    const at = Math.max(performance.now(), nextAt)
    nextAt = at + 1000 / rate
    await wait(at - performance.now())
  }

  return async (request, record) => {
    const exchange: Exchange = { request }
    record.push(exchange)
    const reason = refuse(new URL(request.url))
    if (reason !== undefined) throw new CouldNotTest(`did not call ${request.url.split('?')[0]}: ${reason}`)
    await waitForTurn()
    exchange.response = await exchangeOnce(request, timeLimitMs)
    const { status, headers } = exchange.response
    // The server did not evaluate the request, so nothing can be said about it.
    if (status === 429 || status === 503) {
      const later = headers.get('retry-after')
      throw new CouldNotTest(`the server responded with ${status}${later === null ? '' : `, Retry-After: ${later}`}`)
    }
    return exchange.response
  }
}

async function exchangeOnce({ method, url, headers, body }: Sent, timeLimitMs: number): Promise<Received> {
  const signal = AbortSignal.timeout(timeLimitMs)
  try {
    const response = await fetch(url, {
      method,
      headers,
      redirect: 'manual',
      signal,
      ...(body !== undefined && { body })
    })
    return { status: response.status, headers: response.headers, body: await readBody(response) }
  } catch (error) {
    if (error instanceof CouldNotTest) throw error
    const { origin } = new URL(url)
    if (signal.aborted) throw new CouldNotTest(`${origin} sent no complete response within ${timeLimitMs / 1000} s`)
    throw new CouldNotTest(`cannot reach ${origin}: ${causeOf(error)}`)
  }
}

async function readBody(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    // Leaving the loop cancels the stream and closes the connection.
    if (size > MAX_BODY_BYTES) throw new CouldNotTest(`a response is larger than ${MAX_BODY_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The innermost cause says most, such as ECONNREFUSED. */
function causeOf(error: unknown): string {
  const { cause, message, code } = Object(error) as { cause?: unknown; message?: string; code?: string }
  return cause === undefined ? message || code || String(error) : causeOf(cause)
}
