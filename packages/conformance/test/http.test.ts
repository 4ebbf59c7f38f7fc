import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, jest, test } from '@jest/globals'
import { createUrlRule } from '../src/allowed-url.js'
import { createHttp, type Exchange } from '../src/http.js'

let server: Server | undefined

afterEach(async () => {
  server?.closeAllConnections()
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)))
  server = undefined
})

async function serve(handler: RequestListener): Promise<string> {
  server = createServer(handler)
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

function get(url: string, options: { rate?: number; timeLimitMs?: number; record?: Exchange[] } = {}) {
  const { rate = 1000, timeLimitMs = 120_000, record = [] } = options
  const http = createHttp({ refuse: createUrlRule([new URL(url)], []), rate, timeLimitMs })
  return http({ method: 'GET', url, headers: {} }, record)
}

test('a response larger than 1 MiB ends the check', async () => {
  const url = await serve((_request, response) => {
    response.end('x'.repeat(1_048_577))
  })
  await expect(get(url)).rejects.toThrow('a response is larger than 1048576 bytes')
})

test('a server that never ends its response is abandoned after the time limit', async () => {
  const url = await serve((_request, response) => {
    response.write('x')
  })
  await expect(get(url, { timeLimitMs: 300 })).rejects.toThrow('sent no complete response within 0.3 s')
})

test('an unreachable server is named with the cause', async () => {
  const url = await serve(() => {})
  server?.close()
  await expect(get(url)).rejects.toThrow(/^cannot reach http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/)
})

test.each([429, 503])('%i with Retry-After means that nothing can be tested', async (status) => {
  const url = await serve((_request, response) => {
    response.writeHead(status, { 'retry-after': '7' }).end()
  })
  await expect(get(url)).rejects.toThrow(`the server responded with ${status}, Retry-After: 7`)
})

test('a redirect is recorded and not followed', async () => {
  const paths: string[] = []
  const url = await serve((request, response) => {
    paths.push(request.url ?? '')
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  const record: Exchange[] = []
  expect((await get(url, { record })).status).toBe(302)
  expect(paths).toEqual(['/'])
  expect(record).toHaveLength(1)
})

test('requests are sent one after another at the given rate', async () => {
  const url = await serve((_request, response) => {
    response.end()
  })
  const http = createHttp({ refuse: () => undefined, rate: 20, timeLimitMs: 120_000 })
  const began = performance.now()
  for (let sent = 0; sent < 5; sent += 1) await http({ method: 'GET', url, headers: {} }, [])
  // The first one needs no turn. Timers may end a millisecond early.
  expect(performance.now() - began).toBeGreaterThan(4 * 49)
})

test('a clock that is set back does not delay requests', async () => {
  const url = await serve((_request, response) => {
    response.end()
  })
  const http = createHttp({ refuse: () => undefined, rate: 1000, timeLimitMs: 120_000 })
  await http({ method: 'GET', url, headers: {} }, [])
  const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000)
  try {
    expect((await http({ method: 'GET', url, headers: {} }, [])).status).toBe(200)
  } finally {
    clock.mockRestore()
  }
})
