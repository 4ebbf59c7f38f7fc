import { expect } from '@jest/globals'
import { type FakeEndpoint, json } from '../fake-introspection-endpoint.js'
import { type RawAnswer, sendRaw } from '../raw-request.js'
import { type ApiRequest, type Case, type Expected, expectedOf, live, METADATA_PATH, type Traits } from './cases.js'

export type RunningApi = { port: number }

/** A request with the token that the endpoint accepts. */
export function requestOf(change: Partial<ApiRequest> = {}): ApiRequest {
  return { method: 'GET', target: '/reports', headers: [['Authorization', 'Bearer abc']], body: '', ...change }
}

/** Sends exactly these headers, in this order and spelling. */
export function send({ port }: RunningApi, { method, target, headers, body }: ApiRequest): Promise<RawAnswer> {
  const lines = headers.map(([name, value]) => `${name}: ${value}`)
  if (body !== '') lines.push(`Content-Length: ${body.length}`)
  const head = [`${method} ${target} HTTP/1.1`, 'Host: reports.example', 'Connection: close', ...lines]
  return sendRaw(port, [...head, '', body].join('\r\n'))
}

/** Runs a case and checks what each guarded API must do in it, in any language. */
export async function checkCase(api: RunningApi & Traits, endpoint: FakeEndpoint, each: Case) {
  endpoint.answers(each.answer ?? json(live))
  const request = requestOf(each.request)
  const response = await send(api, request)
  const expected = expectedOf(each, api)
  const { status, calls } = expected
  expect(response.status).toBe(status)
  if (calls !== undefined) expect(endpoint.calls.map(({ path }) => path)).toEqual(Array(calls).fill('/introspect'))
  if (calls === 1) expect(introspectedToken(endpoint)).toBe(tokenOf(request))
  const isRefusal = status >= 400 && status < 500
  const challenge = response.headers.get('www-authenticate')?.replace(/, error_description="[^"]*"$/, '')
  expect(challenge).toBe(isRefusal ? challengeOf(expected) : undefined)
  expect(response.headers.get('retry-after')).toBe(status === 503 ? '2' : null)
  return { request, response, expected }
}

function challengeOf({ error, maxAge, scope = 'reports.read' }: Expected): string {
  const parameters = `realm="reports.example", scope="${scope}", resource_metadata="https://reports.example${METADATA_PATH}"`
  const age = maxAge === undefined ? '' : `, max_age="${maxAge}"`
  return `Bearer ${parameters}${age}${error === undefined ? '' : `, error="${error}"`}`
}

function introspectedToken({ calls }: FakeEndpoint): string | null {
  return new URLSearchParams(calls[0]?.body).get('token')
}

/** The last word of the header. */
function tokenOf({ headers }: ApiRequest): string | undefined {
  const [, value] = headers.find(([name]) => name.toLowerCase() === 'authorization') ?? []
  return value?.trim().split(/[ \t]/).at(-1)
}
