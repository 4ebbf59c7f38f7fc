import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createGuard } from '../../src/guard/guard.js'

let server: Server
let origin: string
let received: { url: string | undefined; body: string }[]

beforeEach(async () => {
  received = []
  server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    received.push({ url: request.url, body })
    response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const options = () => ({
  issuer: 'https://auth.example',
  resource: 'https://api.example',
  scopesSupported: [],
  introspection: { url: `${origin}/introspect`, clientId: 'api', clientSecret: 'secret' }
})

describe('countUse of a guard', () => {
  test('counts by the clock of the guard, and reports before it closes', async () => {
    const now = () => new Date('2026-11-27T12:00:00Z')
    const guard = createGuard({ ...options(), now, activity: { url: `${origin}/uses` } })
    guard.countUse({ grantId: 'grant' }, 'list_files', 200)
    guard.countUse({ grantId: 'grant' }, 'list_files')
    guard.countUse({ grantId: undefined }, 'list_files')
    await guard.close()
    expect(received.map(({ url }) => url)).toEqual(['/uses'])
    expect(JSON.parse(received[0]?.body ?? '').uses).toEqual([
      { grant_id: 'grant', action: 'list_files', count: 201, last_at: now().getTime() / 1_000 }
    ])
  })

  test('without the option sends nothing', async () => {
    const guard = createGuard(options())
    guard.countUse({ grantId: 'grant' }, 'list_files', 200)
    await guard.close()
    expect(received).toEqual([])
  })

  test('with a wrong option throws when the guard is created', () => {
    expect(() => createGuard({ ...options(), activity: { url: 'uses' } })).toThrow('activity.url must be')
  })
})
