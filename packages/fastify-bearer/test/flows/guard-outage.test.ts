import { setTimeout as wait } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { FastifyInstance } from 'fastify'
import { IntrospectionUnavailableError, type Introspector } from '../../src/index.js'
import { json, raw, startFakeEndpoint } from '../fake-introspection-endpoint.js'
import { bearer, buildApi, inOneHour, live, RESOURCE } from '../guarded-api.js'
import { until } from '../until.js'

let endpoint: Awaited<ReturnType<typeof startFakeEndpoint>>
let app: FastifyInstance

beforeAll(async () => {
  endpoint = await startFakeEndpoint()
  app = await buildApi(endpoint.url)
})
afterAll(async () => {
  await app.close()
  await endpoint.close()
})

const get = () => app.inject({ url: '/files', headers: { authorization: bearer } })

const GOOD = { active: true, scope: new Set(['files.read']), audience: [RESOURCE] }

describe('503 with Retry-After, never 401, when nothing is known', () => {
  test.each([
    { name: 'a server error', answer: raw(500, '{"active":true}') },
    { name: 'a refusal of our own credentials', answer: raw(401, '{"error":"invalid_client"}') },
    { name: 'no JSON', answer: raw(200, '<html>') },
    { name: 'JSON that is no object', answer: raw(200, 'null') },
    { name: 'active as text', answer: json({ ...live, active: 'true' }) },
    { name: 'no active', answer: json({ ...live, active: undefined }) },
    { name: 'exp as text', answer: json({ ...live, exp: String(inOneHour) }) },
    { name: 'scope as a list', answer: json({ ...live, scope: ['files.read'] }) },
    { name: 'an audience that is no text', answer: json({ ...live, aud: [RESOURCE, 7] }) },
    { name: 'an answer without end', answer: json({ ...live, padding: 'x'.repeat(70_000) }) },
    { name: 'silence', answer: () => {} },
    { name: 'an answer in drops', answer: (response: { write(text: string): unknown }) => void response.write('{') }
  ])('$name', async ({ answer }) => {
    endpoint.answers(answer)
    // An API of its own for each case: after five failures in a row nobody would be asked any more.
    const api = await buildApi(endpoint.url)
    const response = await api.inject({ url: '/files', headers: { authorization: bearer } })
    await api.close()
    expect(response.statusCode).toBe(503)
    expect(response.headers['retry-after']).toBe('2')
    expect(response.headers).not.toHaveProperty('www-authenticate')
    expect(response.json()).toMatchObject({ error: 'temporarily_unavailable' })
    expect(endpoint.calls).toHaveLength(1)
  })

  test('an introspector of somebody else that throws instead of rejecting', async () => {
    const introspection = {
      introspect: () => {
        throw new IntrospectionUnavailableError('unreachable', 'is away')
      },
      close: async () => {}
    }
    const api = await buildApi(endpoint.url, { introspection })
    const response = await api.inject({ url: '/files', headers: { authorization: bearer } })
    expect(response.statusCode).toBe(503)
    await api.close()
  })

  test.each<{ name: string; introspect: () => unknown; status: number }>([
    { name: 'resolves with nothing', introspect: async () => undefined, status: 500 },
    { name: 'hands back nothing', introspect: () => undefined, status: 500 },
    {
      name: 'has promises of its own',
      introspect: () =>
        runInNewContext('new Promise((settle) => later(settle, good))', { later: setImmediate, good: GOOD }),
      status: 200
    }
  ])('an introspector of somebody else that $name: answered once, and the process lives', async (each) => {
    const introspection = { introspect: each.introspect as Introspector['introspect'], close: async () => {} }
    const api = await buildApi(endpoint.url, { introspection })
    const response = await Promise.race([
      api.inject({ url: '/files', headers: { authorization: bearer } }),
      wait(1_000)
    ])
    expect(response?.statusCode).toBe(each.status)
    await api.close()
  })

  test('nobody listens', async () => {
    const gone = await startFakeEndpoint()
    await gone.close()
    const api = await buildApi(gone.url)
    expect((await api.inject({ url: '/files', headers: { authorization: bearer } })).statusCode).toBe(503)
    await api.close()
  })

  test('and it passes again soon after the server is back, having left it alone meanwhile', async () => {
    endpoint.answers(raw(500, ''))
    const statuses = await Promise.all(Array.from({ length: 20 }, () => get()))
    for (let count = 0; count < 20; count++) statuses.push(await get())
    expect(new Set(statuses.map(({ statusCode }) => statusCode))).toEqual(new Set([503]))
    expect(endpoint.calls.length).toBeLessThan(10)
    endpoint.answers(json(live))
    await until(async () => (await get()).statusCode === 200)
  })
})

test('what a server says of one odd request does not make it rest for all', async () => {
  endpoint.answers(raw(413, ''))
  const api = await buildApi(endpoint.url)
  const statusOf = async () => (await api.inject({ url: '/files', headers: { authorization: bearer } })).statusCode
  for (let count = 0; count < 10; count++) expect(await statusOf()).toBe(503)
  endpoint.answers(json(live))
  expect(await statusOf()).toBe(200)
  await api.close()
})
