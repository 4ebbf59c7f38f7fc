import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import sharp from 'sharp'
import { encodeLogo } from '../../../src/platform/clients/encode-logo.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'

const ISSUER = 'https://auth.example/tenant'

let server: TestServer
let hash: string
let image: Buffer

beforeAll(async () => {
  server = await startTestServer({ ISSUER })
  const file = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
    .png()
    .toBuffer()
  const outcome = await encodeLogo(file)
  if (outcome.kind !== 'logo') throw new Error(outcome.kind)
  hash = outcome.logo.hash
  image = outcome.logo.image
  await server.deps.admin.clients.logos.save(outcome.logo)
  await server.createClient({ branding: { logo: hash } })
})
afterAll(() => server.close())

const get = (path: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' | 'POST' = 'GET') =>
  server.publicServer.inject({ method, url: `/tenant${path}`, headers })

describe('GET /logos/HASH.png', () => {
  test('sends the image, which browsers may keep and may not read as anything else', async () => {
    const answer = await get(`/logos/${hash}.png`)
    expect([answer.statusCode, answer.rawPayload.equals(image)]).toEqual([200, true])
    expect(answer.headers).toMatchObject({
      'content-type': 'image/png',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': "default-src 'none'; sandbox",
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      etag: `"${hash}"`
    })
    expect(answer.headers).not.toHaveProperty('set-cookie')
  })

  test.each([
    { given: () => `"${hash}"`, status: 304 },
    { given: () => `"x", W/"${hash}"`, status: 304 },
    { given: () => '*', status: 304 },
    { given: () => '"x"', status: 200 }
  ])('If-None-Match: $status', async ({ given, status }) => {
    const answer = await get(`/logos/${hash}.png`, { 'if-none-match': given() })
    expect([answer.statusCode, answer.headers.etag]).toEqual([status, `"${hash}"`])
    expect(answer.rawPayload.length).toBe(status === 304 ? 0 : image.length)
  })

  test('HEAD has the headers only', async () => {
    const answer = await get(`/logos/${hash}.png`, {}, 'HEAD')
    expect([answer.statusCode, answer.headers['content-length'], answer.body]).toEqual([200, String(image.length), ''])
  })

  test.each([
    { name: 'an unknown hash', path: () => `/logos/${'0'.repeat(64)}.png` },
    { name: 'upper case', path: () => `/logos/${hash.toUpperCase()}.png` },
    { name: 'another ending', path: () => `/logos/${hash}.svg` },
    { name: 'no ending', path: () => `/logos/${hash}` },
    { name: 'a part of the hash', path: () => `/logos/${hash.slice(0, 63)}.png` },
    { name: 'a line break after it', path: () => `/logos/${hash}.png%0a` },
    { name: 'NUL', path: () => `/logos/${hash}%00.png` },
    { name: 'a path', path: () => '/logos/..%2f..%2f..%2fetc%2fpasswd' },
    { name: 'a path after the name', path: () => `/logos/..%2flogos%2f${hash}.png` },
    { name: 'an address', path: () => '/logos/https:%2f%2fevil.example%2fx.png' }
  ])('404 for $name, which is not stored', async ({ path }) => {
    const answer = await get(path(), { accept: 'text/html' })
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([404, 'no-store'])
    expect(answer.headers['content-type']).toMatch(/^text\/html/)
  })

  test('other methods are refused', async () => {
    expect((await get(`/logos/${hash}.png`, {}, 'POST')).statusCode).toBe(405)
  })
})

test('pages load images of this server only', async () => {
  const { headers } = await get('/login')
  expect(headers['content-security-policy']).toContain("img-src 'self';")
})
