import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { giveAccountLink } from '../../../../src/operator/use-cases/give-account-link.js'
import { ISSUER, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import type { Browser, Page } from '../../../support/browser.js'
import { OPERATOR } from '../../../support/command-line.js'
import { PASSWORD } from '../../../support/flow.js'
import { addressesOn, visibleText } from '../../../support/page-content.js'

const NEW_PASSWORD = 'gravel walks at dawn'

let server: TestServer
let count = 0
let username = ''
let browser: Browser
let page: Page

beforeAll(async () => {
  server = await startTestServer()
})
beforeEach(async () => {
  count += 1
  username = `alice ${count}`
  const userId = await server.createUser(username, PASSWORD)
  const author = { actor: { kind: 'command_line', name: OPERATOR } } as const
  const command = { userId, purpose: 'password_reset' } as const
  browser = server.newBrowser()
  page = await browser.open((await giveAccountLink(command, author, server.deps.admin.users)).url)
})
afterAll(() => server.close())

describe('the form of an account link', () => {
  test('sent twice at once by one browser sets one password, and the other page leads to the sign-in', async () => {
    const pages = await Promise.all([1, 2].map(() => browser.submit(page, { new_password: NEW_PASSWORD })))
    expect(pages.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 404])
    const refused = pages.find(({ statusCode }) => statusCode === 404)
    expect(visibleText(refused?.body ?? '')).toContain('If you have just used this link, sign in.')
    expect(addressesOn(refused?.body ?? '')).toContain(`${ISSUER}/login`)
    expect((await browser.open(`${ISSUER}/login`)).url).toBe(`${ISSUER}/account/apps`)
  })

  test('sent again after Back leads to the account', async () => {
    await browser.submit(page, { new_password: NEW_PASSWORD })
    const again = await browser.submit(page, { new_password: NEW_PASSWORD })
    expect([again.statusCode, again.url]).toEqual([200, `${ISSUER}/account/apps`])
  })

  test('sent after another user has signed in shows its form again, because it was not used', async () => {
    await server.createUser(`${username} too`, PASSWORD)
    await browser.submit(await browser.open(`${ISSUER}/login`), { username: `${username} too`, password: PASSWORD })
    const again = await browser.submit(page, { new_password: NEW_PASSWORD })
    expect(again.url).toBe(`${ISSUER}/account-link`)
    expect((await browser.submit(again, { new_password: NEW_PASSWORD })).url).toBe(`${ISSUER}/account/apps`)
  })
})
