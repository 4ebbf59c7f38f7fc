import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createGuard, type Guard } from '@valetkey/guard'
import { accessTokenOf, requireAccessToken, serveMetadata } from '@valetkey/guard/node'
import type { Page } from 'playwright-core'
import type { BrowserWorld } from './browser-world.js'

const RESOURCE = 'https://api.example'
const result = {
  active: true as const,
  scope: new Set(['reports.read']),
  audience: [RESOURCE],
  subject: 'alice-id',
  clientId: undefined,
  issuer: undefined,
  tokenType: undefined,
  expiresAt: undefined,
  tokenId: undefined,
  grantId: undefined,
  isSenderConstrained: false
}

let guards: Record<'open' | 'strict', Guard>
let servers: Server[] = []
let page: Page

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The address of an API of another origin than the page. */
async function startApi(guard: Guard): Promise<string> {
  const metadata = serveMetadata(guard)
  const mayRead = requireAccessToken(guard, 'reports.read')
  return listen((request, response) =>
    metadata(request, response, () => mayRead(request, response, () => response.end(accessTokenOf(request).subject)))
  )
}

/** What a script of the page can read of a response; undefined if the browser forbids it. */
function fetchInPage(url: string, headers: Record<string, string>) {
  return page.evaluate(
    async ([target, given]) => {
      const response = await fetch(target, { headers: given }).catch(() => undefined)
      if (response === undefined) return undefined
      const { status } = response
      return { status, challenge: response.headers.get('www-authenticate'), text: await response.text() }
    },
    [url, headers] as const
  )
}

const authorization = 'Bearer abc'

export function guardAnyOrigin(world: BrowserWorld): void {
  beforeAll(async () => {
    const build = (anyOrigin: boolean) =>
      createGuard({
        issuer: 'https://auth.example',
        resource: RESOURCE,
        scopesSupported: [],
        tokenFormat: 'any',
        anyOrigin,
        introspection: { introspect: () => result, close: async () => {} }
      })
    guards = { open: build(true), strict: build(false) }
    page = await world.browser.newPage()
    await page.goto(await listen((_request, response) => response.end('an app')))
  })
  afterAll(async () => {
    await page?.close()
    for (const server of servers) server.closeAllConnections()
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    servers = []
  })

  test('anyOrigin: a page of another origin sends the token and reads the response', async () => {
    const api = await startApi(guards.open)
    expect(await fetchInPage(`${api}/reports`, { authorization })).toMatchObject({ status: 200, text: 'alice-id' })
  })

  test('anyOrigin: a page of another origin reads the challenge of a refusal (RFC 9728 §5.1)', async () => {
    const api = await startApi(guards.open)
    const refused = await fetchInPage(`${api}/reports`, {})
    expect(refused?.status).toBe(401)
    expect(refused?.challenge).toContain(`resource_metadata="${guards.open.metadata.url}"`)
  })

  test('without anyOrigin the browser sends no token to another origin', async () => {
    const api = await startApi(guards.strict)
    expect(await fetchInPage(`${api}/reports`, { authorization })).toBeUndefined()
  })

  test.each(['open', 'strict'] as const)(
    'a page of another origin reads the metadata with mcp-protocol-version, guard: %s',
    async (name) => {
      const api = await startApi(guards[name])
      const url = `${api}${guards[name].metadata.path}`
      expect(await fetchInPage(url, { 'mcp-protocol-version': '2026-07-28' })).toMatchObject({ status: 200 })
    }
  )
}
