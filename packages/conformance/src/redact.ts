import type { Exchange, Received, Sent } from './http.js'

const SECRET = [
  'access_token',
  'client_secret',
  'code',
  'code_verifier',
  'id_token',
  'password',
  'refresh_token',
  'token'
]
const HIDDEN = '[redacted]'
const MAX_BODY_CHARACTERS = 2000
const IN_FORM = new RegExp(`(^|[?&#])(${SECRET.join('|')})=[^&#\\s]*`, 'g')
const IN_JSON = new RegExp(`("(?:${SECRET.join('|')})"\\s*:\\s*)"(?:[^"\\\\]|\\\\.)*"`, 'g')

export type ShownExchange = {
  request: { method: string; url: string; headers: Record<string, string>; body?: string }
  response?: { status: number; headers: Record<string, string>; body: string }
}

/** Hides values that this run sent or received as secrets, in any text. */
export function redactValues(text: string, secrets: Iterable<string>): string {
  let result = text
  for (const secret of secrets) {
    result = result.replaceAll(secret, HIDDEN).replaceAll(encodeURIComponent(secret), HIDDEN)
  }
  return result
}

/** What a report may show of a request and its response: no code, token, secret, verifier or cookie; no pages. */
export function redactExchange({ request, response }: Exchange, secrets: Iterable<string>): ShownExchange {
  const values = [...secrets]
  return {
    request: redactRequest(request, values),
    ...(response !== undefined && { response: redactResponse(response, values) })
  }
}

function redactRequest({ method, url, headers, body }: Sent, secrets: readonly string[]) {
  return {
    method,
    url: redactText(url, secrets),
    headers: redactHeaders(Object.entries(headers), secrets),
    ...(body !== undefined && { body: redactText(body, secrets) })
  }
}

function redactResponse({ status, headers, body }: Received, secrets: readonly string[]) {
  return { status, headers: redactHeaders(headers, secrets), body: redactBody(headers, body, secrets) }
}

function redactHeaders(headers: Iterable<[string, string]>, secrets: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    [...headers].map(([name, value]) => {
      if (name === 'authorization') return [name, `${value.split(' ')[0]} ${HIDDEN}`]
      if (name === 'cookie') return [name, value.replace(/=[^;]*/g, `=${HIDDEN}`)]
      // One cookie, then its attributes.
      if (name === 'set-cookie') return [name, value.replace(/=[^;]*/, `=${HIDDEN}`)]
      return [name, redactText(value, secrets)]
    })
  )
}

/** Pages have hidden fields of their own, which may be secret. */
function redactBody(headers: Headers, body: string, secrets: readonly string[]): string {
  if (/^\s*(text\/html|application\/xhtml\+xml)/i.test(headers.get('content-type') ?? ''))
    return `[page of ${body.length} characters]`
  const text = redactText(body, secrets)
  return text.length > MAX_BODY_CHARACTERS ? `${text.slice(0, MAX_BODY_CHARACTERS)}…` : text
}

function redactText(text: string, secrets: readonly string[]): string {
  const byName = text.replace(IN_FORM, `$1$2=${HIDDEN}`).replace(IN_JSON, `$1"${HIDDEN}"`)
  return redactValues(byName, secrets)
}
