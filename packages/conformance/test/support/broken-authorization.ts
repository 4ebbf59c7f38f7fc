import { randomUUID } from 'node:crypto'
import { type Answer, APP, NATIVE, OTHER, PUBLIC, SCOPE } from './broken-apps.js'
import type { Grants } from './broken-token.js'
import type { Has } from './faults.js'

const KNOWN = [
  'response_type',
  'client_id',
  'redirect_uri',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'dpop_jkt',
  'resource'
]

type Verdict =
  | { kind: 'page'; status: 400 }
  | { kind: 'error'; redirectUri: string; error: string }
  | { kind: 'valid'; clientId: string; redirectUri: string; token: boolean }

export function createAuthorizationEndpoint(server: { issuer: string; resource: string; has: Has; grants: Grants }) {
  const { issuer, resource, has, grants } = server

  function validate(query: URLSearchParams): Verdict {
    const client = [APP, NATIVE, OTHER, PUBLIC].find(({ id }) => id === query.get('client_id'))
    const uris = query.getAll('redirect_uri')
    const redirectUri = uris.at(has('takes the last redirect URI') ? -1 : 0) ?? ''
    if (client === undefined) {
      return redirectsStrangers(query)
        ? { kind: 'error', redirectUri, error: 'invalid_client' }
        : { kind: 'page', status: 400 }
    }
    if (uris.length > 1 && !has('takes the last redirect URI')) return { kind: 'page', status: 400 }
    const isKnown = uris.length > 1 || matches(redirectUri, client.redirectUri)
    if (!isKnown) return { kind: 'page', status: 400 }
    const error = repeatedOrUnknown(query) ?? wrongType(query) ?? wrongChallenge(query) ?? wrongResource(query)
    if (error !== undefined) return { kind: 'error', redirectUri, error }
    return { kind: 'valid', clientId: client.id, redirectUri, token: query.get('response_type') === 'token' }
  }

  function redirectsStrangers(query: URLSearchParams): boolean {
    const id = query.get('client_id')
    if (id === null) return has('redirects without client')
    return id.startsWith('https://') ? has('redirects client documents') : has('redirects unknown clients')
  }

  function matches(given: string, registered: string): boolean {
    if (given === registered || has('redirects to any URI')) return true
    const [one, other] = [new URL(given), new URL(registered)]
    if (other.hostname === '127.0.0.1' && !has('compares ports')) one.port = other.port
    if (has('compares without query')) one.search = ''
    if (has('compares the beginning of the path') && one.pathname.startsWith(other.pathname))
      one.pathname = other.pathname
    if (has('compares the beginning of the host') && one.hostname.startsWith(other.hostname)) return true
    return one.href === other.href
  }

  function repeatedOrUnknown(query: URLSearchParams): string | undefined {
    const names = [...query.keys()]
    const isRepeated = new Set(names).size < names.length && !has('takes the last redirect URI')
    if (isRepeated && !has('takes the first of repeated parameters')) return 'invalid_request'
    const isUnknown = names.some((name) => !KNOWN.includes(name))
    return isUnknown && has('refuses unknown parameters') ? 'invalid_request' : undefined
  }

  function wrongType(query: URLSearchParams): string | undefined {
    const type = query.get('response_type')
    if (type === 'code' || (type === 'token' && has('has the implicit grant'))) return undefined
    if (type === null) return has('assumes code') ? undefined : 'invalid_request'
    return has('responds with invalid_request to response types') ? 'invalid_request' : 'unsupported_response_type'
  }

  function wrongChallenge(query: URLSearchParams): string | undefined {
    const method = query.get('code_challenge_method')
    if (query.get('code_challenge') === null) {
      const isOptional = has('takes requests without PKCE') || has('takes verifiers without challenge')
      return isOptional ? undefined : 'invalid_request'
    }
    const isTaken =
      method === 'S256' ||
      (method === 'plain' && has('takes plain')) ||
      (method === null && has('assumes plain')) ||
      has('takes any PKCE method')
    return isTaken ? undefined : 'invalid_request'
  }

  function wrongResource(query: URLSearchParams): string | undefined {
    const given = query.get('resource') ?? resource
    return given === resource || has('ignores resource') ? undefined : 'invalid_target'
  }

  function redirect(redirectUri: string, parameters: Record<string, string | null>): Answer {
    const url = new URL(redirectUri)
    for (const [name, value] of Object.entries(parameters)) if (value !== null) url.searchParams.append(name, value)
    return { status: 303, headers: { location: url.href } }
  }

  function refuse(query: URLSearchParams, verdict: Exclude<Verdict, { kind: 'valid' }>): Answer {
    if (verdict.kind === 'page') return page(verdict.status)
    const state = query.get('state')
    return redirect(verdict.redirectUri, {
      error: verdict.error,
      state: state !== null && has('decodes state twice in errors') ? decodeURIComponent(state) : state,
      iss: has('sends errors without iss') ? null : issuer
    })
  }

  function page(status: number): Answer {
    const frames = has('can be framed') ? {} : { 'content-security-policy': "frame-ancestors 'none'" }
    const origins = has('allows other origins') ? { 'access-control-allow-origin': '*' } : {}
    return { status, headers: { 'content-type': 'text/html', ...frames, ...origins }, body: '<p>Sign in' }
  }

  return {
    open(query: URLSearchParams): Answer {
      const verdict = validate(query)
      return verdict.kind === 'valid' ? page(200) : refuse(query, verdict)
    },
    allow(query: URLSearchParams): Answer {
      const verdict = validate(query)
      if (verdict.kind !== 'valid') return refuse(query, verdict)
      const [code, state] = [randomUUID(), query.get('state')]
      const { clientId, redirectUri } = verdict
      if (verdict.token) return redirect(redirectUri, { access_token: randomUUID(), state })
      const challenge = query.get('code_challenge')
      const dpopJkt = query.get('dpop_jkt')
      grants.codes.set(code, { clientId, redirectUri, challenge, dpopJkt, scope: SCOPE, grant: undefined })
      return redirect(redirectUri, {
        code,
        state: state !== null && has('decodes state twice with codes') ? decodeURIComponent(state) : state,
        iss: has('sends codes without iss') ? null : issuer,
        access_token: has('sends tokens with codes') ? randomUUID() : null
      })
    }
  }
}
