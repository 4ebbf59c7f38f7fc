import { describe, expect, test } from '@jest/globals'
import { startTestServer } from '../../../support/authorization-server.js'
import type { Page } from '../../../support/browser.js'
import { PASSWORD } from '../../../support/flow.js'
import { signedInBrowser } from '../../../support/pages.js'

describe('the page of the ways to sign in', () => {
  /** The pages of the account that the buttons lead to. */
  const linksOn = ({ body }: Page) =>
    [...body.matchAll(/<a class="button[^"]*" href="[^"]*\/account\/(\w+)"/g)].map(([, name]) => name)

  test.each([
    { issuer: 'http://localhost:4000', links: ['password', 'passkeys'] },
    { issuer: 'http://127.0.0.1:4000', links: ['password'] },
    { issuer: 'http://[::1]:4000', links: ['password'] }
  ])('on $issuer it leads to $links: an IP address has no passkeys (WebAuthn §5.1.3)', async ({ issuer, links }) => {
    const server = await startTestServer({ ISSUER: issuer })
    try {
      await server.createUser('alice', PASSWORD)
      const page = await (await signedInBrowser(server)).open(`${issuer}/account/sign-ins`)
      expect(linksOn(page)).toEqual(links)
      expect(/passkey/i.test(page.body)).toBe(links.includes('passkeys'))
    } finally {
      await server.close()
    }
  })

  test('does not lead a user without a password to passkeys, which that user cannot add', async () => {
    const server = await startTestServer()
    try {
      await server.createUser('alice', PASSWORD)
      const browser = await signedInBrowser(server)
      const text = 'update users set password_hash = null'
      await server.database.query({ name: 'test_no_password', text, values: [] })
      expect(linksOn(await browser.open(`${server.config.issuer}/account/sign-ins`))).toEqual([])
    } finally {
      await server.close()
    }
  })
})
