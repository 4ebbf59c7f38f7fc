import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type FakeHandOver = {
  sub: string
  client_name: string
  language: string
  return_to: string
  identifier?: string
}

type Started = FakeHandOver & { isStarted: boolean; isDecided: boolean }
type Finish = { handover: string; type: string; identifier: string; summary: string }

export const CREDENTIALS = { clientId: 'files', clientSecret: 'rs secret' }

/** An HTTP server in the role of the endpoints `/selections/…` of the authorization server. */
export async function startSelectionEndpoints() {
  const handOvers = new Map<string, Started>()
  const finished: Finish[] = []
  const seen: string[] = []
  let outage: ((response: ServerResponse) => void) | undefined

  function respond(response: ServerResponse, status: number, body: object): void {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of request) text += chunk
    seen.push(String(request.headers.authorization))
    if (outage !== undefined) return outage(response)
    const body = JSON.parse(text) as Finish
    const known = handOvers.get(body.handover)
    const isStart = request.url === '/selections/start'
    if (known === undefined || known.isStarted === isStart || known.isDecided) {
      return respond(response, 404, { error: 'unknown_handover' })
    }
    if (!isStart) {
      finished.push(body)
      return respond(response, 200, { return_to: known.return_to })
    }
    known.isStarted = true
    const { isStarted, isDecided, ...members } = known
    respond(response, 200, { client_id: 'printer', scope: 'files.selected', expires_in: 900, ...members })
  }

  const server = createServer((request, response) => void handle(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    startUrl: `${origin}/selections/start`,
    finishUrl: `${origin}/selections/finish`,
    finished,
    seen,
    /** Makes a hand-over. @returns its id */
    handOver(members: FakeHandOver): string {
      const id = randomBytes(32).toString('base64url')
      handOvers.set(id, { ...members, isStarted: false, isDecided: false })
      return id
    },
    /** The user decides in another window. */
    decide(id: string): void {
      const known = handOvers.get(id)
      if (known !== undefined) known.isDecided = true
    },
    /** Every later response; undefined ends the outage. */
    fail(by: ((response: ServerResponse) => void) | undefined): void {
      outage = by
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}
