import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { generate } from 'selfsigned'

export type AppSite = {
  origin: string
  redirectUri: string
  /** The queries that the callback received, in order. */
  answers: URLSearchParams[]
  /** Refuses connections until `open`. */
  close(): Promise<void>
  open(): Promise<void>
}

type AppSiteOptions = { tls?: boolean; host?: string | undefined; hopsTo?: () => string }

/** The web site of an app. Its callback records the query and shows a page, directly or after a redirect to `hopsTo`. */
export async function openAppSite(options: AppSiteOptions = {}): Promise<AppSite> {
  const answers: URLSearchParams[] = []
  const server = options.tls ? createTlsServer(await certificate(), answer) : createServer(answer)
  const host = options.host ?? '127.0.0.1'
  let port = 0

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, search, searchParams } = new URL(request.url ?? '', 'http://app.example')
    if (pathname === '/callback') answers.push(searchParams)
    if (pathname === '/callback' && options.hopsTo !== undefined) {
      response.writeHead(302, { location: `${options.hopsTo()}${search}` }).end()
      return
    }
    response.writeHead(pathname === '/favicon.ico' ? 204 : 200, { 'content-type': 'text/html; charset=utf-8' })
    response.end('<!doctype html><html lang="en"><title>App</title><h1>Thank you</h1>')
  }

  async function open(): Promise<void> {
    await new Promise<void>((resolve) => server.listen(port, host, resolve))
    port = (server.address() as AddressInfo).port
  }

  await open()
  const plainHost = host.includes(':') ? `[${host}]` : host
  const origin = options.tls ? `https://localhost:${port}` : `http://${plainHost}:${port}`
  return {
    origin,
    redirectUri: `${origin}/callback`,
    answers,
    open,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    }
  }
}

async function certificate(): Promise<{ key: string; cert: string }> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], { algorithm: 'sha256' })
  return { key, cert }
}
