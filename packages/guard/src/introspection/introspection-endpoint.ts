import { batchRequests } from './batch-requests.js'
import { type Caller, createCaller } from './introspection-call.js'
import {
  type IntrospectionResult,
  parseIntrospectionResult,
  parseIntrospectionResults
} from './introspection-result.js'
import { IntrospectionUnavailableError, unreadableResponse } from './introspection-unavailable.js'
import type { CallStatistics } from './introspector-statistics.js'
import type { CallOrigin } from './shared-calls.js'

export type EndpointOptions = {
  /** The introspection endpoint of the authorization server (RFC 7662 §2). */
  url: string
  /**
   * Valetkey's endpoint for several tokens in one request. With it, concurrent requests share a call. If the server does
   * not have it (403, 404, 405), all calls go to `url`.
   */
  severalUrl?: string
  /** This resource server's own credentials at the authorization server. */
  clientId: string
  clientSecret: string
  /** The time limit of one complete response. Default 2000. */
  timeoutMs?: number
  /** Maximum number of connections to the authorization server. Default 64. */
  connections?: number
}

/** A result, and its number of characters, from which the cache estimates its size in memory. */
type EndpointResult = { result: IntrospectionResult; size: number }

export type IntrospectionEndpoint = {
  /** @throws {IntrospectionUnavailableError} when nothing is known about the token */
  introspect(accessToken: string, origin: CallOrigin): Promise<EndpointResult>
  statistics(): CallStatistics
  close(): Promise<void>
}

/** Tokens that may be part of a list. Others are sent alone, so that they cannot make a whole batch fail. */
const LISTABLE = /^[\w.~-]{1,128}$/
const WITHOUT_LISTS_MS = 60_000

type IntrospectionRequest = { accessToken: string; origin: CallOrigin }

/** A client of one RFC 7662 endpoint. */
export function createIntrospectionEndpoint(options: EndpointOptions): IntrospectionEndpoint {
  const { url, severalUrl, timeoutMs = 2_000 } = options
  const caller = createCaller(options)
  const introspectAlone = singleCalls(caller, pathOf(url))
  let hasNoListUntil = 0

  async function introspectBatch(requests: readonly IntrospectionRequest[], introspectList: ListCall) {
    const [first, second] = requests
    if (first === undefined) return []
    if (second === undefined) return [await introspectAlone(first)]
    try {
      return await introspectList(requests)
    } catch (error) {
      if (!isUnknownEndpoint(error)) throw error
      hasNoListUntil = performance.now() + WITHOUT_LISTS_MS
      return requests.map(introspectAlone)
    }
  }

  function batching(introspectList: ListCall): (request: IntrospectionRequest) => Promise<EndpointResult> {
    return batchRequests((requests) => introspectBatch(requests, introspectList), {
      milliseconds: timeoutMs,
      failure() {
        caller.countTimeout()
        return new IntrospectionUnavailableError('timeout', 'the call waited too long for earlier calls')
      }
    })
  }

  const introspectBatched = severalUrl === undefined ? undefined : batching(listCalls(caller, pathOf(severalUrl)))

  return {
    introspect(accessToken, origin) {
      const request = { accessToken, origin }
      const isBatched = performance.now() >= hasNoListUntil && LISTABLE.test(accessToken)
      return isBatched && introspectBatched !== undefined ? introspectBatched(request) : introspectAlone(request)
    },
    statistics: caller.statistics,
    close: caller.close
  }
}

/** Introspects one token (RFC 7662 §2.1). */
function singleCalls(caller: Caller, path: string) {
  return ({ accessToken, origin }: IntrospectionRequest): Promise<EndpointResult> => {
    const form = `token=${encodeURIComponent(accessToken)}&token_type_hint=access_token`
    return caller.send({ path, body: form, origin, tokens: 1 }, ({ body, date }) => {
      const result = parseIntrospectionResult(body)
      if (result === undefined) throw unreadableResponse()
      return { result: withTime(result, date), size: body.length }
    })
  }
}

type ListCall = ReturnType<typeof listCalls>

/** Introspects several tokens in one call. Rejects one token alone if only its result is unreadable. */
function listCalls(caller: Caller, path: string) {
  return (requests: readonly IntrospectionRequest[]): Promise<(EndpointResult | Promise<EndpointResult>)[]> => {
    const form = `tokens=${requests.map(({ accessToken }) => accessToken).join('+')}`
    const requestIds = requests.flatMap(({ origin }) => origin.requestIds)
    const trace = requests.find(({ origin }) => origin.trace !== undefined)?.origin.trace
    return caller.send(
      { path, body: form, origin: { requestIds, trace }, tokens: requests.length },
      ({ body, date }) => {
        const results = parseIntrospectionResults(body, requests.length)
        if (results === undefined) throw unreadableResponse()
        const size = Math.ceil(body.length / requests.length)
        return results.map((result) =>
          result === undefined ? rejection(unreadableResponse()) : { result: withTime(result, date), size }
        )
      }
    )
  }
}

/** 403 as well, because a proxy may allow only `/introspect`. */
const UNKNOWN_ENDPOINT = [403, 404, 405]

function isUnknownEndpoint(error: unknown): boolean {
  return error instanceof IntrospectionUnavailableError && UNKNOWN_ENDPOINT.includes(error.status ?? 0)
}

/** Marked as handled, because its caller attaches a handler only in a later microtask. */
function rejection(error: Error): Promise<never> {
  const rejected = Promise.reject(error)
  rejected.catch(() => {})
  return rejected
}

function withTime(result: IntrospectionResult, date: Date | undefined): IntrospectionResult {
  if (!result.active) return result
  return {
    ...result,
    respondedAt: date,
    ...(result.authenticatedAt && { receivedAt: performance.now() })
  }
}

function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}
