import { describe, expect, test } from '@jest/globals'
import { startTestServer } from '../../support/authorization-server.js'

describe('passkeys are switched off', () => {
  test.each([
    {
      name: 'on an issuer with an IP address',
      settings: { ISSUER: 'http://127.0.0.1:4000' },
      scripts: ['show-password.js']
    },
    { name: 'without local accounts', settings: { ...provider(), LOCAL_SIGN_IN: 'false' }, scripts: [] }
  ])('$name, and no page mentions them', async ({ settings, scripts }) => {
    const other = await startTestServer(settings)
    try {
      const { issuer } = other.config
      const browser = other.newBrowser()
      const page = await browser.get(`${issuer}/login?done=signed_out`)
      expect(page.statusCode).toBe(200)
      expect(page.body).not.toMatch(/passkey|webauthn/i)
      expect([...page.body.matchAll(/<script src="[^"]*\/([^"/]+)"/g)].map(([, name]) => name)).toEqual(scripts)
      expect(page.body.match(/<script/g) ?? []).toHaveLength(scripts.length)
      const allowsScripts = String(page.headers['content-security-policy']).includes('script-src')
      expect(allowsScripts).toBe(scripts.length > 0)
    } finally {
      await other.close()
    }
  })
})

function provider(): Record<string, string> {
  const element = {
    id: 'idp',
    label: 'IdP',
    issuer: 'https://idp.example',
    client_id: 'vk',
    client_secret: 'x'.repeat(32)
  }
  return { SIGN_IN_PROVIDERS: JSON.stringify([element]) }
}
