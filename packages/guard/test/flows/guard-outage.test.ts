import { runInNewContext } from 'node:vm'
import { describe, expect, jest, test } from '@jest/globals'
import { IntrospectionUnavailableError, type Introspector } from '../../src/index.js'
import { json, raw, startFakeEndpoint } from '../fake-introspection-endpoint.js'
import { bearer, buildApi, inOneHour, live, RESOURCE, useGuardedApi } from '../guarded-api.js'
import { until } from '../until.js'

const served = useGuardedApi()

const get = () => served.app.inject({ url: '/files', headers: { authorization: bearer } })

const GOOD = { active: true, scope: new Set(['files.read']), audience: [RESOURCE] }

describe('503 with Retry-After, never 401, when introspection fails', () => {
  test.each([
    { name: 'a server error', answer: raw(500, '{"active":true}') },
    { name: 'a 401 for our own credentials', answer: raw(401, '{"error":"invalid_client"}') },
    { name: 'a body that is not JSON', answer: raw(200, '<html>') },
    { name: 'JSON that is not an object', answer: raw(200, 'null') },
    { name: 'active as a string', answer: json({ ...live, active: 'true' }) },
    { name: 'no active', answer: json({ ...live, active: undefined }) },
    { name: 'exp as a string', answer: json({ ...live, exp: String(inOneHour) }) },
    { name: 'scope as a list', answer: json({ ...live, scope: ['files.read'] }) },
    { name: 'an audience that is not a string', answer: json({ ...live, aud: [RESOURCE, 7] }) },
    { name: 'an answer of 70,000 characters', answer: json({ ...live, padding: 'x'.repeat(70_000) }) },
    { name: 'no response', answer: () => {}, timeoutMs: 1_000 },
    {
      name: 'a body that never ends',
      answer: (response: { write(text: string): unknown }) => void response.write('{'),
      timeoutMs: 1_000
    }
  ])('$name', async ({ answer, timeoutMs }) => {
    served.endpoint.answers(answer)
    // A new API for each case, because the circuit breaker opens after five failures in a row.
    const api = await buildApi(served.endpoint.url, {}, timeoutMs)
    const response = await api.inject({ url: '/files', headers: { authorization: bearer } })
    await api.close()
    expect(response.statusCode).toBe(503)
    expect(response.headers['retry-after']).toBe('2')
    expect(response.headers).not.toHaveProperty('www-authenticate')
    expect(response.json()).toMatchObject({ error: 'temporarily_unavailable' })
    expect(served.endpoint.calls).toHaveLength(1)
  })

  test('a refused credential: the process warns once a minute, and says what to check', async () => {
    const warnings: unknown[][] = []
    const { emitWarning } = process
    process.emitWarning = (...args: unknown[]) => void warnings.push(args)
    let milliseconds = 1_000_000
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => milliseconds)
    served.endpoint.answers(raw(401, '{"error":"invalid_client"}'))
    const api = await buildApi(served.endpoint.url)
    try {
      for (const at of [0, 1, 59_999, 60_000]) {
        milliseconds = 1_000_000 + at
        const response = await api.inject({ url: '/files', headers: { authorization: bearer } })
        expect(response.statusCode).toBe(503)
      }
    } finally {
      process.emitWarning = emitWarning
      clock.mockRestore()
      await api.close()
    }
    const warning = [
      expect.stringContaining('check introspection.clientId and introspection.clientSecret'),
      'ValetkeyGuard'
    ]
    expect(warnings).toEqual([warning, warning])
  })

  test('a custom introspector that throws instead of rejecting', async () => {
    const introspection = {
      introspect: () => {
        throw new IntrospectionUnavailableError('unreachable', 'no connection')
      },
      close: async () => {}
    }
    const api = await buildApi(served.endpoint.url, { introspection })
    const response = await api.inject({ url: '/files', headers: { authorization: bearer } })
    expect(response.statusCode).toBe(503)
    await api.close()
  })

  test.each<{ name: string; introspect: () => unknown; status: number }>([
    { name: 'resolves with undefined', introspect: async () => undefined, status: 503 },
    { name: 'returns undefined', introspect: () => undefined, status: 503 },
    {
      name: 'returns a promise of another realm',
      introspect: () =>
        runInNewContext('new Promise((settle) => later(settle, good))', { later: setImmediate, good: GOOD }),
      status: 200
    }
  ])('a custom introspector that $name: one response with $status', async (each) => {
    const introspection = { introspect: each.introspect as Introspector['introspect'], close: async () => {} }
    const api = await buildApi(served.endpoint.url, { introspection })
    const response = await api.inject({ url: '/files', headers: { authorization: bearer } })
    expect(response.statusCode).toBe(each.status)
    await api.close()
  })

  test('an endpoint that refuses connections', async () => {
    const closed = await startFakeEndpoint()
    await closed.close()
    const api = await buildApi(closed.url)
    expect((await api.inject({ url: '/files', headers: { authorization: bearer } })).statusCode).toBe(503)
    await api.close()
  })

  test('200 again after the server recovers; few calls are sent meanwhile', async () => {
    served.endpoint.answers(raw(500, ''))
    const statuses = await Promise.all(Array.from({ length: 20 }, () => get()))
    for (let count = 0; count < 20; count++) statuses.push(await get())
    expect(new Set(statuses.map(({ statusCode }) => statusCode))).toEqual(new Set([503]))
    expect(served.endpoint.calls.length).toBeLessThan(10)
    served.endpoint.answers(json(live))
    await until(async () => (await get()).statusCode === 200)
  })
})

test('a 413 for one request does not open the circuit', async () => {
  served.endpoint.answers(raw(413, ''))
  const api = await buildApi(served.endpoint.url)
  const statusOf = async () => (await api.inject({ url: '/files', headers: { authorization: bearer } })).statusCode
  for (let count = 0; count < 10; count++) expect(await statusOf()).toBe(503)
  served.endpoint.answers(json(live))
  expect(await statusOf()).toBe(200)
  await api.close()
})
