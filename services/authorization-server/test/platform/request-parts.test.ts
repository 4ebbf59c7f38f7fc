import { expect, test } from '@jest/globals'
import type { FastifyRequest } from 'fastify'
import { queryOf, rawQuery } from '../../src/platform/request-parts.js'

/** A request that counts how often its address is read. */
function requestOf(url: string) {
  const reads = { count: 0 }
  const raw = {
    get url() {
      reads.count++
      return url
    }
  }
  return { request: { raw } as unknown as FastifyRequest, reads }
}

test('query: it is read once for each request, whatever needs it', () => {
  const { request, reads } = requestOf('/oauth/authorize?client_id=a&state=b%20c')
  expect(queryOf(request).get('client_id')).toBe('a')
  expect(queryOf(request).get('state')).toBe('b c')
  expect(queryOf(request)).toBe(queryOf(request))
  expect(reads.count).toBe(1)
})

test('query: two requests have their own parameters', () => {
  const [one, other] = [requestOf('/?a=1').request, requestOf('/?a=2').request]
  expect([queryOf(one).get('a'), queryOf(other).get('a')]).toEqual(['1', '2'])
})

test.each([
  { url: '/login', query: '' },
  { url: '/login?', query: '' },
  { url: '/login?a=%ff&b', query: 'a=%ff&b' },
  { url: '/login?a=?b', query: 'a=?b' }
])('query: that of $url is "$query", byte for byte', ({ url, query }) => {
  expect(rawQuery(requestOf(url).request)).toBe(query)
})
