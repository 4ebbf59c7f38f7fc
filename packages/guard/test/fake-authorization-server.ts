import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type FakeAuthorizationServer = Awaited<ReturnType<typeof startFakeAuthorizationServer>>

/** An HTTP server in the role of Valetkey's internal listener; each test sets its behaviour. */
export async function startFakeAuthorizationServer(port = 0) {
  const answers = new Map<string, object>()
  const streams = new Map<string, ServerResponse>()
  const seen = { introspections: 0, tokens: [] as string[], nonces: 0, subscriptions: 0 }
  let epoch = 1
  let counter = 0
  let sendsProofs = true
  let refusedStreams = 0
  let clockAhead = 0
  let beforeAnswer: ((token: string) => Promise<unknown>) | undefined

  async function introspect(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const token = new URLSearchParams(await bodyOf(request)).get('token') ?? ''
    seen.introspections += 1
    seen.tokens.push(token)
    const answer = answers.get(token) ?? { active: false }
    await beforeAnswer?.(token)
    response.setHeader('date', new Date(Date.now() + clockAhead).toUTCString())
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  }

  function openStream(response: ServerResponse): void {
    seen.subscriptions += 1
    if (seen.subscriptions <= refusedStreams) {
      response.writeHead(503, { 'content-length': 100 }).write('{')
      return
    }
    const id = `stream-${seen.subscriptions}`
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    streams.set(id, response)
    response.on('close', () => streams.delete(id))
    response.write(frame('opened', { stream: id }))
  }

  async function answerNonce(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await bodyOf(request))
    seen.nonces += 1
    response.writeHead(204).end()
    if (sendsProofs) streams.get(form.get('stream') ?? '')?.write(frame('proof', { nonce: form.get('nonce') }))
  }

  const frame = (event: string, data: object) =>
    `event: ${event}\nid: e${epoch}-${counter}\ndata: ${JSON.stringify(data)}\n\n`

  const server = createServer((request, response) => {
    if (request.url === '/introspect') void introspect(request, response)
    else if (request.method === 'POST') void answerNonce(request, response)
    else openStream(response)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    introspectionUrl: `${origin}/introspect`,
    revocationsUrl: `${origin}/revocations`,
    port: (server.address() as AddressInfo).port,
    seen,
    answers,
    sendsProofs(next: boolean) {
      sendsProofs = next
    },
    /** Sets by how many milliseconds the `Date` of its responses is ahead. */
    clockAhead(next: number) {
      clockAhead = next
    },
    /** Refuses the first streams, with a body that never ends. */
    refuseStreams(count: number) {
      refusedStreams = count
    },
    /** Each response waits for this, after it was decided. */
    beforeAnswer(next: ((token: string) => Promise<unknown>) | undefined) {
      beforeAnswer = next
    },
    revoke(members: object, { skip = 0 } = {}) {
      counter += 1 + skip
      for (const stream of streams.values()) stream.write(frame('revoked', members))
    },
    /** Ends every stream and begins a new epoch. */
    endStreams() {
      epoch += 1
      counter = 0
      for (const stream of streams.values()) stream.end()
    },
    breakConnections() {
      for (const stream of streams.values()) stream.destroy()
    },
    streams: () => streams.size,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request) body += chunk
  return body
}
