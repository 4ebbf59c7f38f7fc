import { type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'

export type RawAnswer = { statusCode: number; headers: IncomingHttpHeaders; body: string }

type RawRequest = { method?: string; headers?: Record<string, string>; body?: string }

/** Sends a request whose path reaches the server unchanged, one byte for each character. */
export type RawSend = (path: string, request?: RawRequest) => Promise<RawAnswer>

/** Opens a listener of a test server on a free port. It closes with the server. */
export async function overTheWire(listener: FastifyInstance): Promise<RawSend> {
  await listener.listen({ host: '127.0.0.1', port: 0 })
  const { port } = listener.server.address() as AddressInfo
  return (path, { method = 'GET', headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({
            statusCode: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString()
          })
        )
        response.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(body)
    })
}
