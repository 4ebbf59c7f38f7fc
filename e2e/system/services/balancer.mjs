// A small HTTP load balancer: round robin over the servers whose /readyz responds with 200, keep-alive connections, and no
// retries of sent requests. So a failed request is visible to its client.
import { Agent, createServer, request } from 'node:http'
import { codeOf, messageOf } from '../../../packages/dev-stack/lib/error-code.mjs'
import { listenOnLoopback } from '../../../packages/dev-stack/lib/processes/listen.mjs'

/** @import { IncomingMessage, ServerResponse } from 'node:http' */

const ASK_EVERY_MS = 100
// One failed check may be caused by a busy machine; real load balancers check again, too.
const UNREADY_AFTER = 2

/** @param {readonly { port: number, readyUrl: string }[]} targets the servers */
export async function startBalancer(targets) {
  const agent = new Agent({ keepAlive: true, maxSockets: 500 })
  const servers = targets.map((target) => ({ ...target, ready: false }))
  let turn = 0
  let asking = true

  const rounds = servers.map(async (server) => {
    let refusals = UNREADY_AFTER
    while (asking) {
      refusals = (await isReady(server.readyUrl)) ? 0 : refusals + 1
      server.ready = refusals < UNREADY_AFTER
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS))
    }
  })

  const listener = createServer(async (incoming, outgoing) => {
    const parts = []
    try {
      for await (const part of incoming) parts.push(part)
      forward(incoming, Buffer.concat(parts), outgoing, servers.length)
    } catch {
      outgoing.destroy()
    }
  })
  // This is longer than any test, so that only the servers end connections.
  listener.keepAliveTimeout = 600_000
  const port = await listenOnLoopback(listener)

  /**
   * @param {IncomingMessage} incoming
   * @param {Buffer} body
   * @param {ServerResponse} outgoing
   * @param {number} attempts
   */
  function forward(incoming, body, outgoing, attempts) {
    const ready = servers.filter((server) => server.ready)
    const target = ready[turn++ % ready.length]
    if (target === undefined) return answer(outgoing, 503)
    const { connection: _, ...headers } = incoming.headers
    const { method, url: path } = incoming
    const sent = request({ host: '127.0.0.1', port: target.port, method, path, headers, agent })
    sent.on('response', (response) => {
      const { connection: _, 'keep-alive': __, ...rest } = response.headers
      outgoing.writeHead(response.statusCode ?? 502, rest)
      response.pipe(outgoing)
      // An interrupted response is also interrupted for the client.
      response.on('error', () => outgoing.destroy())
    })
    sent.on('error', (error) => {
      if (outgoing.headersSent) return outgoing.destroy()
      // The connection was refused, so no byte of the request was sent.
      if (codeOf(error) === 'ECONNREFUSED' && attempts > 1) return forward(incoming, body, outgoing, attempts - 1)
      answer(outgoing, 502, `${codeOf(error) || messageOf(error)} from port ${target.port}`)
    })
    outgoing.on('close', () => {
      if (!outgoing.writableFinished) sent.destroy()
    })
    sent.end(body)
  }

  return {
    port,
    url: `http://127.0.0.1:${port}`,
    readyCount: () => servers.filter((server) => server.ready).length,
    async close() {
      asking = false
      listener.closeAllConnections()
      await Promise.all([...rounds, new Promise((resolve) => listener.close(resolve))])
      agent.destroy()
    }
  }
}

/**
 * @param {ServerResponse} outgoing
 * @param {number} status
 * @param {string} [why]
 */
function answer(outgoing, status, why = 'no server is ready') {
  outgoing.writeHead(status, { 'content-type': 'text/plain', 'x-balancer': 'true' }).end(why)
}

/** @param {string} url */
async function isReady(url) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_500), headers: { connection: 'close' } })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}
