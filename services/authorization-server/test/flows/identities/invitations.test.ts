import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashId, newRandomId } from '../../../src/browser/session/random-id.js'
import { ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { PASSWORD } from '../../support/flow.js'
import { HANDOFF, insertIdentity, passHandoff } from '../../support/handoff.js'

const SIGN_INS = `${ISSUER}/account/sign-ins`

let server: TestServer
let number = 0
let username: string
let userId: string
let subject: string

beforeAll(async () => {
  server = await startTestServer(HANDOFF)
})
beforeEach(async () => {
  number += 1
  username = `user-${number}`
  subject = `person-${number}`
  userId = await server.createUser(username, PASSWORD)
})
afterAll(() => server.close())

const identities = () => server.deps.signIns.identities.list(userId)

describe('an invitation that is accepted with a login page', () => {
  let token: string
  beforeEach(async () => {
    token = newRandomId()
    await server.database.query({
      name: 'test_invite',
      text: `insert into account_links (user_id, token_hash, purpose, expires_at)
        values ($1, $2, 'invitation', now() + interval '1 hour')`,
      values: [userId, Buffer.from(hashId(token), 'base64url')]
    })
  })
  const accept = (browser: Browser, given = token, claims = {}) =>
    passHandoff(
      browser,
      { sub: subject, name: 'Bob', ...claims },
      `${ISSUER}/login/handoff?purpose=invitation&token=${given}`
    )

  test('links the identity after the question, signs in, and is spent', async () => {
    const browser = server.newBrowser()
    const question = await accept(browser)
    expect(question.body).toContain(username)
    expect(await identities()).toEqual([])
    const page = await browser.submit(question, {})
    expect(page.url).toBe(SIGN_INS)
    expect(await identities()).toMatchObject([{ subject }])
    const audited = await server.database.query({
      name: 'test_audit_of_invitation',
      text: `select details from audit_events where event = 'identity_linked' and user_id = $1`,
      values: [userId]
    })
    expect(audited).toMatchObject([{ details: { reason: 'invitation' } }])
    const again = await accept(server.newBrowser(), token, { sub: 'mallory' })
    expect(again.statusCode).toBe(403)
    expect(again.body).toContain('This link is no longer available')
  })

  test('is not redeemed by another browser that learns the address of the question', async () => {
    const question = await accept(server.newBrowser())
    const other = server.newBrowser()
    await other.open(`${ISSUER}/login`)
    expect((await other.open(question.url)).statusCode).toBe(400)
    const proposal = new URL(question.url).searchParams.get('proposal') ?? ''
    const own = await accept(other, token, { sub: `${subject}-other` })
    expect((await other.submitOnly(own, { proposal })).statusCode).toBe(400)
    expect(await identities()).toEqual([])
  })

  test('links one identity if two persons answer in parallel', async () => {
    const persons = [subject, `${subject}-other`]
    const browsers = persons.map(() => server.newBrowser())
    const questions = await Promise.all(browsers.map((each, index) => accept(each, token, { sub: persons[index] })))
    const pages = await Promise.all(browsers.map((each, index) => each.submit(questions[index] as never, {})))
    expect(pages.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 403])
    expect(await identities()).toHaveLength(1)
  })

  test('is not spent by an identity that is linked to another user', async () => {
    const other = await server.createUser(`${username}-other`, PASSWORD)
    await insertIdentity(server, other, `${subject}-other`)
    const refused = await accept(server.newBrowser(), token, { sub: `${subject}-other` })
    expect(refused.body).toContain('Already linked')
    expect(refused.body).not.toContain(`${username}-other`)
    const browser = server.newBrowser()
    expect((await browser.submit(await accept(browser), {})).statusCode).toBe(200)
  })

  test.each(['', 'unknown'])('with the token %j is refused', async (given) => {
    expect((await accept(server.newBrowser(), given)).body).toContain('This link is no longer available')
  })
})
