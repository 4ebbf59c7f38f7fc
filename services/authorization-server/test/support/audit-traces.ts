import { expect } from '@jest/globals'
import { auditRows, clearAuditRows } from './audit-rows.js'
import type { TestServer } from './authorization-server.js'
import { PASSWORD, responseParameters } from './flow.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'

/** What a proxy that traces requests sends. `behindTracingProxy` adds it. */
export const TRACE_HEADERS = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01`, tracestate: 'vendor=opaque' }

/** A Location must not have the trace: it goes through the browser to other parties (W3C Trace Context §7). */
export const TRACE_WORDS = /4bf92f35|traceparent|tracestate|opaque/

/** The events of the requests that `act` sends, each with its trace. */
export async function tracesOf(
  server: TestServer,
  act: () => Promise<unknown>
): Promise<Record<string, string | null>> {
  await clearAuditRows(server)
  await act()
  const rows = await auditRows(server)
  return Object.fromEntries(
    rows.filter(({ request_id }) => request_id !== null).map((row) => [row.event, row.trace_id])
  )
}

/** These events, each with the trace of the headers. */
export const traced = (...events: string[]) => Object.fromEntries(events.map((event) => [event, TRACE]))

/** Signs alice in and allows the request. @returns the code */
export async function signInAndAllow(server: TestServer, url: string): Promise<string> {
  const browser = server.newBrowser()
  const consent = await browser.submit(await browser.open(url), { username: 'alice', password: PASSWORD })
  const answer = await browser.submitOnly(consent, { decision: 'allow' })
  expect(JSON.stringify(answer.headers)).not.toMatch(TRACE_WORDS)
  return responseParameters(answer).code ?? ''
}
