import { createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Passes all requests on to a guarded server, with an access token: the conformance tool cannot send one itself. */
export async function startTokenRelay(
  target: string,
  accessToken: string
): Promise<{ url: string; stop(): Promise<void> }> {
  const { hostname, port, pathname } = new URL(target)
  const server = createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${accessToken}` }
    const forwarded = sendRequest({ hostname, port, path: request.url, method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    forwarded.once('error', () => response.destroy())
    response.once('close', () => forwarded.destroy())
    request.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    }
  }
}
