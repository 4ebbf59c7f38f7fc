import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { wcagContrast } from 'culori'
import fc from 'fast-check'
import sharp from 'sharp'
import { accentProperties } from '../../../src/http/accent-color.js'
import { loadBranding } from '../../../src/http/branding.js'
import { encodeLogo } from '../../../src/platform/clients/encode-logo.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'

describe('branding', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'valetkey-branding-'))
  afterAll(() => rmSync(directory, { recursive: true }))

  const file = (name: string, content: string | Buffer): string => {
    writeFileSync(path.join(directory, name), content)
    return path.join(directory, name)
  }
  const plain = { productName: 'Acme', accentColor: undefined }

  test.each([
    {
      name: 'a missing file',
      logo: path.join(directory, 'none.svg'),
      problem: /PRODUCT_LOGO: the file .* cannot be read/
    },
    { name: 'another type', logo: file('logo.exe', 'x'), problem: /PRODUCT_LOGO: must be the path of an .svg or .png/ },
    { name: 'a huge file', logo: file('big.png', Buffer.alloc(300 * 1024)), problem: /PRODUCT_LOGO: .* 256 KiB/ }
  ])('the logo: $name is refused at the start', ({ logo, problem }) => {
    expect(() => loadBranding({ ...plain, productLogo: logo })).toThrow(problem)
  })

  test('every colour of an operator is readable in light and dark mode, and so is the text on it', () => {
    const color = fc.tuple(...Array.from({ length: 3 }, () => fc.integer({ min: 0, max: 255 })))
    fc.assert(
      fc.property(color, (channels) => {
        const given = `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
        const [light = '', dark = ''] = accentProperties(given).split('@media')
        for (const [css, surface] of [
          [light, '#ffffff'],
          [dark, '#1b211e']
        ] as const) {
          const [, accent = '', ink = '', tint = ''] =
            /--accent: (#\w{6}); --accent-ink: (#\w{6}); --tint: (#\w{6});/.exec(css) ?? []
          expect(wcagContrast(accent, surface)).toBeGreaterThanOrEqual(4.5)
          expect(wcagContrast(accent, tint)).toBeGreaterThanOrEqual(4.5)
          expect(wcagContrast(accent, ink)).toBeGreaterThanOrEqual(4.5)
        }
      }),
      { numRuns: 500 }
    )
  })

  test('the pages show an operator’s name, logo and colour, without a changed template', async () => {
    const server = await startTestServer({
      PRODUCT_NAME: 'Acme & Sons',
      PRODUCT_LOGO: file('logo.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>'),
      ACCENT_COLOR: '#7a1fa2'
    })
    try {
      const page = await server.newBrowser().open('http://localhost:4000/login')
      expect(page.body).toContain('<title>Sign in · Acme &amp; Sons</title>')
      expect(page.body).toContain('<img class="logo" src="http://localhost:4000/assets/logo" alt="">')
      expect(page.body).not.toContain('Valetkey')
      const logo = await server.publicServer.inject('/assets/logo')
      expect(logo.headers['content-type']).toBe('image/svg+xml')
      // An image with a script may run nothing if its address is opened.
      expect(logo.headers['content-security-policy']).toContain("default-src 'none'")
      expect((await server.publicServer.inject('/assets/style.css')).body).toContain('--accent: #7a1fa2;')
    } finally {
      await server.close()
    }
  })

  test('without settings the pages have the default name and no logo', async () => {
    const server = await startTestServer()
    try {
      expect((await server.newBrowser().open('http://localhost:4000/login')).body).toContain(
        '<title>Sign in · Valetkey'
      )
      expect((await server.publicServer.inject('/assets/logo')).statusCode).toBe(404)
    } finally {
      await server.close()
    }
  })
})

describe('logos', () => {
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
    await server.deps.admin.clients.clientLogos.save(outcome.logo)
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
      expect([answer.statusCode, answer.headers['content-length'], answer.body]).toEqual([
        200,
        String(image.length),
        ''
      ])
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
})
