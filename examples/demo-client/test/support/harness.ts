import { jest } from '@jest/globals'
import type { FastifyInstance } from 'fastify'
import { type AppParts, buildApp } from '../../src/app.js'
import { readConfig } from '../../src/config.js'
import { CLIENT_ID, CLIENT_SECRET, fakeAuthorizationServer, fakeResourceServer } from './fake-servers.js'

export const BASE_URL = 'http://127.0.0.1:4299'

/** The app between two fake servers, with a clock that tests can move and a log that they can read. */
export async function startHarness(parts: AppParts = {}) {
  const authorizationServer = await fakeAuthorizationServer()
  const resourceServer = await fakeResourceServer(authorizationServer.state.liveAccessTokens)
  const clock = { offset: 0 }
  const realNow = Date.now
  const dateNow = jest.spyOn(Date, 'now').mockImplementation(() => realNow() + clock.offset)
  const log: string[] = []
  const config = readConfig({
    ISSUER: authorizationServer.url,
    RESOURCE_URL: resourceServer.url,
    CLIENT_ID,
    CLIENT_SECRET,
    BASE_URL,
    LISTEN: '127.0.0.1:4299'
  })
  const app = await buildApp(config, {
    ...parts,
    logStream: { write: (line) => void log.push(line) }
  })
  return {
    app,
    authorizationServer,
    resourceServer,
    clock,
    log,
    browser: () => browserOf(app),
    async stop() {
      dateNow.mockRestore()
      await app.close()
      await Promise.all([authorizationServer.stop(), resourceServer.stop()])
    }
  }
}

export type Harness = Awaited<ReturnType<typeof startHarness>>
export type Browser = ReturnType<typeof browserOf>

/** A minimal browser: it keeps cookies and records all responses. */
function browserOf(app: FastifyInstance) {
  const cookies = new Map<string, string>()
  const received: string[] = []

  async function send(method: 'GET' | 'POST', url: string, headers: Record<string, string> = {}) {
    const form = method === 'POST' ? { 'content-type': 'application/x-www-form-urlencoded', origin: BASE_URL } : {}
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const host = new URL(BASE_URL).host
    const response = await app.inject({ method, url, headers: { host, cookie, ...form, ...headers } })
    for (const { name, value } of response.cookies) cookies.set(name, value)
    received.push(JSON.stringify(response.headers), response.body)
    return response
  }

  return {
    cookies,
    received,
    get: (url: string, headers?: Record<string, string>) => send('GET', url, headers),
    post: (url: string, headers?: Record<string, string>) => send('POST', url, headers),
    /** Presses Connect and returns the address at the authorization server. */
    startConnecting: async () => String((await send('POST', '/connect')).headers.location)
  }
}

/** A browser that has gone through the whole flow. */
export async function connectedBrowser(harness: Harness): Promise<Browser> {
  const browser = harness.browser()
  await browser.get('/')
  const callback = await browser.get(harness.authorizationServer.allow(await browser.startConnecting()))
  if (callback.statusCode !== 303) throw new Error(`the callback answered ${callback.statusCode}: ${callback.body}`)
  return browser
}
