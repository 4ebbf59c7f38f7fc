import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestServer } from './authorization-server.js'

/** A network address for the logout tokens of a real provider: the test server has none. */
export async function startLogoutBridge(path: string, server: () => TestServer) {
  const statuses: number[] = []
  const bridge = createServer(async (request, response) => {
    let payload = ''
    for await (const part of request) payload += part
    const headers = { 'content-type': request.headers['content-type'] ?? '' }
    const answer = await server().publicServer.inject({ method: 'POST', url: path, headers, payload })
    statuses.push(answer.statusCode)
    response.writeHead(answer.statusCode).end(answer.body)
  })
  await new Promise<void>((resolve) => bridge.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(bridge.address() as AddressInfo).port}/`,
    /** The status codes of the responses to the provider. */
    statuses,
    async close() {
      bridge.closeAllConnections()
      await new Promise((resolve) => bridge.close(resolve))
    }
  }
}

export type LogoutBridge = Awaited<ReturnType<typeof startLogoutBridge>>
