import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type SeenCall = { path: string; headers: IncomingMessage['headers']; body: string }
type Answer = (response: ServerResponse, call: SeenCall) => void

export type FakeEndpoint = Awaited<ReturnType<typeof startFakeEndpoint>>

/** An HTTP server in the role of an RFC 7662 endpoint; each test sets its responses. */
export async function startFakeEndpoint() {
  const calls: SeenCall[] = []
  let answer: Answer = json({ active: false })
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const call = { path: request.url ?? '', headers: request.headers, body }
    calls.push(call)
    answer(response, call)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/introspect`,
    calls,
    answers(next: Answer) {
      calls.length = 0
      answer = next
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

export function json(document: unknown) {
  return raw(200, JSON.stringify(document))
}

export function raw(status: number, body: string) {
  return (response: ServerResponse) => response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}
