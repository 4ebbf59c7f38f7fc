import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const preflight = (url: string, method: string) => ({
  method: 'OPTIONS' as const,
  url,
  headers: { origin: 'https://spa.example', 'access-control-request-method': method }
})

describe('CORS (OAuth 2.1 3.1, 3.2)', () => {
  test.each([
    { url: '/token', method: 'POST' },
    { url: '/oauth/revoke', method: 'POST' },
    { url: '/.well-known/oauth-authorization-server', method: 'GET' }
  ])(
    'a preflight for $url allows any origin, Authorization, Content-Type and MCP-Protocol-Version',
    async ({ url, method }) => {
      const { statusCode, headers, body } = await server.publicServer.inject(preflight(url, method))
      expect([statusCode, body]).toEqual([204, ''])
      expect(headers['access-control-allow-origin']).toBe('*')
      expect(headers['access-control-allow-methods']).toBe(method)
      expect(headers['access-control-allow-headers']).toBe('authorization, content-type, mcp-protocol-version')
      expect(headers).not.toHaveProperty('access-control-allow-credentials')
    }
  )

  test('any origin can read an error of the token endpoint with its challenge', async () => {
    const answer = await server.publicServer.inject({ method: 'POST', url: '/token' })
    expect(answer.statusCode).toBe(401)
    expect(answer.headers['access-control-allow-origin']).toBe('*')
    expect(answer.headers['access-control-expose-headers']).toContain('www-authenticate')
  })

  test.each(['/oauth/authorize', '/login', '/consent', '/logout'])(
    '%s allows no origin, neither for a preflight nor for a request',
    async (url) => {
      const answers = await Promise.all([
        server.publicServer.inject(preflight(url, 'GET')),
        server.publicServer.inject({ method: 'GET', url, headers: { origin: 'https://spa.example' } })
      ])
      for (const { headers } of answers) expect(headers).not.toHaveProperty('access-control-allow-origin')
      expect(answers[0]?.statusCode).toBe(405)
    }
  )
})
