import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { listenOnLoopback } from '../../packages/dev-stack/lib/processes/listen.mjs'

/** The host is slow, so that many refreshes with an unknown key arrive during one fetch. */
const DELAY_MS = 100

/**
 * Starts the https server of the clients: their documents and their keys.
 * @param files the paths of its certificate and its key
 */
export async function startHost({ certificate, key }) {
  const documents = new Map()
  let fetches = 0
  let isDown = false
  const server = createServer(
    { cert: readFileSync(certificate), key: readFileSync(key) },
    async ({ url }, response) => {
      fetches += 1
      if (isDown) return response.destroy()
      await wait(DELAY_MS)
      const document = documents.get(url)
      response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(document ?? {}))
    }
  )
  const port = await listenOnLoopback(server)
  return {
    urlOf: (name) => `https://localhost:${port}/${name}`,
    publish: (name, document) => documents.set(`/${name}`, document),
    fetches: () => fetches,
    setDown: (value) => {
      isDown = value
    },
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    }
  }
}
