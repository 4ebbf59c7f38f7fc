import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { wcagContrast } from 'culori'
import fc from 'fast-check'
import { accentProperties } from '../../src/http/accent-color.js'
import { loadBranding } from '../../src/http/branding.js'
import { startTestServer } from '../support/authorization-server.js'

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
    expect((await server.newBrowser().open('http://localhost:4000/login')).body).toContain('<title>Sign in · Valetkey')
    expect((await server.publicServer.inject('/assets/logo')).statusCode).toBe(404)
  } finally {
    await server.close()
  }
})
