import {
  ANY_ORIGIN,
  isPreflight,
  METADATA_HEADERS,
  METADATA_WRONG_METHOD,
  preflightHeaders
} from './guard/any-origin.js'
import type { Guard } from './guard/guard.js'
import type { Outcome, Refused, Unavailable } from './guard/outcome.js'
import type { RequestContext } from './guard/token-guard.js'
import { type AccessToken, checkRequirement, type ScopeRequirement } from './guard/validate-token-and-scope.js'

/** A handler of Next, Bun, Deno or Hono; `rest` is what the framework passes after the request. */
type GuardedHandler<Incoming extends Request, Rest extends unknown[]> = (
  request: Incoming,
  accessToken: AccessToken,
  ...rest: Rest
) => Response | Promise<Response>

/**
 * Decides about a request; `toResponse` makes the response of a refusal. Never reads the body. If an accepted outcome has `headers`,
 * your response needs them.
 */
export function checkRequest(
  guard: Guard,
  { method, url, headers }: Request,
  requirement?: ScopeRequirement
): Outcome | Promise<Outcome> {
  return guard.check({ method, url, rawHeaders: rawHeadersOf(headers, guard) }, requirement, contextOf(headers, guard))
}

/** The challenges are in one header field, because `Headers` joins repeated fields. */
export function toResponse({ status, headers, problem }: Refused | Unavailable): Response {
  return new Response(JSON.stringify(problem), { status, headers })
}

/**
 * A handler that calls another one only for requests with a valid token: `protect(guard, ['reports.read'], list)`. If the
 * guard allows any origin, it also responds to preflight requests.
 */
export function protect<Incoming extends Request, Rest extends unknown[]>(
  guard: Guard,
  requirement: ScopeRequirement,
  handler: GuardedHandler<Incoming, Rest>
): (request: Incoming, ...rest: Rest) => Promise<Response> {
  checkRequirement(requirement)
  return async (request, ...rest) => {
    if (guard.anyOrigin && isPreflight(request.method, request.headers.get('access-control-request-method'))) {
      return preflightResponse(request)
    }
    const outcome = await checkRequest(guard, request, requirement)
    if (outcome.kind !== 'accepted') return toResponse(outcome)
    const response = await handler(request, outcome.accessToken, ...rest)
    const complete = outcome.headers === undefined ? response : withHeaders(response, outcome.headers)
    return guard.anyOrigin ? withAnyOrigin(complete) : complete
  }
}

/** The response of the metadata (RFC 9728) at its well-known path; undefined for other paths. */
export function metadataResponse({ metadata }: Guard, request: Request): Response | undefined {
  if (new URL(request.url).pathname !== metadata.path) return undefined
  const { method } = request
  if (method === 'OPTIONS') return preflightResponse(request)
  if (method !== 'GET' && method !== 'HEAD') return new Response(null, { status: 405, headers: METADATA_WRONG_METHOD })
  return Response.json(metadata.document, { headers: METADATA_HEADERS })
}

function preflightResponse({ headers }: Request): Response {
  const requested = headers.get('access-control-request-headers')
  return new Response(null, { status: 204, headers: preflightHeaders(requested) })
}

function contextOf(headers: Headers, guard: Guard): RequestContext | undefined {
  const traceparent = headers.get('traceparent')
  if (traceparent === null) return undefined
  const tracestate = headers.get('tracestate') ?? undefined
  // A web request does not have its peer's address.
  return { trustedTrace: guard.trustedTrace({ traceparent, tracestate }, undefined) }
}

// A guard knows a request by its list of headers: a proof that was checked before is not a second use of it.
const listsWithProof = new WeakMap<Headers, readonly string[]>()

function rawHeadersOf(headers: Headers, guard: Guard): readonly string[] {
  const authorizations = authorizationsOf(headers, guard.dpop === undefined ? BEARER : BEARER_OR_DPOP)
  const proof = guard.dpop && headers.get('dpop')
  const list = authorizations.flatMap((value) => ['authorization', value])
  if (typeof proof !== 'string') return list
  list.push('dpop', proof)
  const former = listsWithProof.get(headers)
  if (former?.length === list.length && former.every((value, index) => value === list[index])) return former
  listsWithProof.set(headers, list)
  return list
}

const BEARER = /^\s*bearer(?![!#$%&'*+.^_`|~0-9a-z-])/i
const BEARER_OR_DPOP = /^\s*(?:bearer|dpop)(?![!#$%&'*+.^_`|~0-9a-z-])/i

/**
 * `Headers` joins repeated headers with a comma, so one Authorization header with a comma may have been two. It counts as
 * two if a part is a token; the credentials of other schemes may have commas.
 */
function authorizationsOf(headers: Headers, token: RegExp): readonly string[] {
  const value = headers.get('authorization')
  if (value === null) return []
  const parts = value.split(',')
  return parts.length > 1 && parts.some((part) => token.test(part)) ? parts : [value]
}

/** The handler's response with these headers instead of its own of these names. */
function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  // An upgraded connection cannot be copied.
  if (response.status < 200) return response
  const copy = new Response(response.body, response)
  for (const [name, value] of Object.entries(headers)) copy.headers.set(name, value)
  return copy
}

/**
 * The handler's response, readable from any origin. An origin that the handler allows itself is kept, as in the other
 * adapters. It is a copy, because the headers of a redirect or of a fetched response cannot be changed.
 */
function withAnyOrigin(response: Response): Response {
  // An upgraded connection cannot be copied.
  if (response.status < 200) return response
  const copy = new Response(response.body, response)
  for (const [name, value] of Object.entries(ANY_ORIGIN)) {
    if (name !== 'access-control-allow-origin' || !copy.headers.has(name)) copy.headers.append(name, value)
  }
  return copy
}
