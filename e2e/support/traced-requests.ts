import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'

export type LogLine = {
  event?: string
  reqId?: string
  route?: string
  otherReqIds?: string[]
  trace_id?: string
  span_id?: string
}

/** The lines of one request in a log, which is written shortly after the response. */
export async function linesOf(logFile: string | undefined, id: string): Promise<LogLine[]> {
  for (;;) {
    const written = readFileSync(logFile ?? '', 'utf8').split('\n')
    const lines = written.filter((line) => line.includes(id)).map((line): LogLine => JSON.parse(line))
    if (lines.length > 0) return lines
    await wait(10)
  }
}

/** The trace of a proxy: a new one, sampled. */
export function newTrace() {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-01`, tracestate: 'proxy=1' } }
}

/** Sends a GET request. @returns status, headers and request id of its response */
export function get(url: string, headers: Record<string, string>, localAddress = '127.0.0.1') {
  return new Promise<{ status: number; headers: string; id: string }>((resolve, reject) => {
    const sent = request(url, { headers, localAddress, agent: false }, (response) => {
      const { statusCode: status = 0, rawHeaders, headers } = response
      response
        .resume()
        .on('end', () => resolve({ status, headers: rawHeaders.join(), id: String(headers['x-request-id']) }))
    })
    sent.on('error', reject).end()
  })
}
