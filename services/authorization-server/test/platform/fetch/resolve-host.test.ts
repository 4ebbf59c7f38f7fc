import { expect, test } from '@jest/globals'
import { resolveHost } from '../../../src/platform/fetch/resolve-host.js'

const { signal } = new AbortController()

test.each([
  ['localhost', { address: '127.0.0.1', family: 4 }],
  ['127.0.0.1', { address: '127.0.0.1', family: 4 }],
  ['[::1]', { address: '::1', family: 6 }]
])('%s needs no DNS', async (hostname, address) => {
  expect(await resolveHost(hostname, signal)).toEqual([address])
})

test('an aborted lookup fails', async () => {
  const stop = new AbortController()
  const resolved = resolveHost('app.example', stop.signal)
  stop.abort()
  await expect(resolved).rejects.toThrow()
})
