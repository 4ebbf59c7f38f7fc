import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { makeCertificate } from './certificate.js'

export type Respond = (response: ServerResponse, request: IncomingMessage) => void

/** A name of the test server that is no name of this machine. */
export const APP_HOST = 'app.example.test'

/** The https server of an app, on the loopback interface. */
export async function startDocumentServer() {
  const { key, cert } = makeCertificate(['localhost', APP_HOST, `*.${APP_HOST}`])
  const answers = new Map<string, Respond>()
  const requests: string[] = []
  const open = new Set<Socket>()
  let connections = 0
  const server = createServer({ key, cert }, (request, response) => {
    requests.push(request.url ?? '')
    const respond = answers.get(request.url ?? '') ?? ((missing: ServerResponse) => missing.writeHead(404).end())
    respond(response, request)
  })
  server.on('connection', (socket: Socket) => {
    connections += 1
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  return {
    ca: cert,
    port,
    /** Paths of the requests so far. */
    requests,
    connections: () => connections,
    openConnections: () => open.size,
    urlOf: (path: string, host = 'localhost') => `https://${host}:${port}${path}`,
    respond: (path: string, answer: Respond) => answers.set(path, answer),
    /** Publishes a valid document. @returns its URL, which is the client id */
    publish(path: string, change: Record<string, unknown> = {}, headers: Record<string, string> = {}): string {
      const url = `https://localhost:${port}${path}`
      answers.set(path, sendJson({ ...DOCUMENT, client_id: url, ...change }, headers))
      return url
    },
    async close() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    }
  }
}

export type DocumentServer = Awaited<ReturnType<typeof startDocumentServer>>

const DOCUMENT = { client_name: 'Paper Boat', redirect_uris: ['https://boat.example/callback', 'http://127.0.0.1/cb'] }

export function sendJson(value: unknown, headers: Record<string, string> = {}): Respond {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
  }
}
