import { describe, expect, test } from '@jest/globals'
import { authorizeUrl } from '../../support/flow.js'
import { refusingServer } from '../../support/refused-requests.js'
import { disable } from '../../support/tokens.js'

const world = refusingServer()

const authorize = (change: Record<string, string | undefined> = {}) =>
  world.server.publicServer.inject({ url: authorizeUrl(world.client.clientId, change) })

describe('a refused authorization request', () => {
  test.each<{ name: string; change: Record<string, string | undefined>; refusal: object }>([
    {
      name: 'a redirect URI that is not registered',
      change: { redirect_uri: 'https://app.example/other?code=secret#fragment' },
      refusal: {
        error: 'invalid_request',
        reason: 'redirect_uri_mismatch',
        redirectUri: 'https://app.example/other?code=…#…',
        description: undefined
      }
    },
    {
      name: 'no redirect URI',
      change: { redirect_uri: undefined },
      refusal: { reason: 'redirect_uri_mismatch', redirectUri: undefined }
    },
    {
      name: 'another response type',
      change: { response_type: 'token' },
      refusal: { error: 'unsupported_response_type', reason: 'unsupported_response_type' }
    },
    {
      name: 'no response type',
      change: { response_type: undefined },
      refusal: { reason: 'invalid_request', description: 'The parameter response_type is missing.' }
    },
    {
      name: 'an unknown scope',
      change: { scope: 'unknown' },
      refusal: { error: 'invalid_scope', reason: 'invalid_scope' }
    },
    {
      name: 'an unknown resource',
      change: { resource: 'https://unknown.example' },
      refusal: { error: 'invalid_target', reason: 'invalid_target' }
    },
    {
      name: 'prompt=none without a session',
      change: { prompt: 'none' },
      refusal: { error: 'login_required', reason: 'login_required' }
    },
    {
      name: 'a query that is too long',
      change: { state: 'x'.repeat(8_000) },
      refusal: { error: 'invalid_request', reason: 'request_too_long' }
    }
  ])('with $name is listed', async ({ change, refusal }) => {
    const response = await authorize(change)
    expect(await world.onlyRefusal()).toMatchObject({
      clientId: world.client.clientId,
      endpoint: 'authorize',
      requestId: response.headers['x-request-id'],
      authenticated: false,
      ...refusal
    })
  })

  test('of a disabled client is listed', async () => {
    await disable(world.server, 'client', world.client.clientId)
    await authorize()
    expect(await world.onlyRefusal()).toMatchObject({ error: 'invalid_client', reason: 'client_disabled' })
  })

  test('whose browser sends no cookie is listed', async () => {
    await world.server.publicServer.inject({ url: `${authorizeUrl(world.client.clientId)}&again=no_cookie` })
    expect(await world.onlyRefusal()).toMatchObject({ error: 'invalid_request', reason: 'no_cookie' })
  })

  test('with a huge or hostile redirect URI keeps at most 500 characters, without characters that turn it around', async () => {
    const hostile = `https://a.example/\u202e<img src=x onerror=alert(1)>${'x'.repeat(5_000)}`
    await authorize({ redirect_uri: hostile })
    const { redirectUri = '' } = (await world.onlyRefusal()) ?? {}
    expect(redirectUri).toMatch(/^https:\/\/a\.example\/<img src=x onerror=alert\(1\)>x+…$/)
    expect(redirectUri).toHaveLength(500)
  })

  test('that is accepted is not listed', async () => {
    await authorize()
    expect(await world.listed()).toEqual([])
  })
})
