import { beforeEach, describe, expect, test } from '@jest/globals'
import { hashId, newRandomId } from '../../../src/browser/session/random-id.js'
import { ISSUER } from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { PASSWORD } from '../../support/flow.js'
import { HANDOFF, insertIdentity, passHandoff } from '../../support/handoff.js'
import { serverWithUser } from '../../support/server-with-user.js'

const SIGN_INS = `${ISSUER}/account/sign-ins`

const world = serverWithUser(HANDOFF)

const identities = () => world.server.deps.signIns.identities.list(world.userId)

describe('an invitation that is accepted with a login page', () => {
  let token: string
  beforeEach(async () => {
    token = newRandomId()
    await world.server.database.query({
      name: 'test_invite',
      text: `insert into account_links (user_id, token_hash, purpose, expires_at)
        values ($1, $2, 'invitation', now() + interval '1 hour')`,
      values: [world.userId, Buffer.from(hashId(token), 'base64url')]
    })
  })
  const accept = (browser: Browser, given = token, claims = {}) =>
    passHandoff(
      browser,
      { sub: world.subject, name: 'Bob', ...claims },
      `${ISSUER}/login/handoff?purpose=invitation&token=${given}`
    )

  test('links the identity after the question, signs in, and can be used once', async () => {
    const browser = world.server.newBrowser()
    const question = await accept(browser)
    expect(question.body).toContain(world.username)
    expect(await identities()).toEqual([])
    const page = await browser.submit(question, {})
    expect(page.url).toBe(SIGN_INS)
    expect(await identities()).toMatchObject([{ subject: world.subject }])
    const audited = await world.server.database.query({
      name: 'test_audit_of_invitation',
      text: `select details from audit_events where event = 'identity_linked' and user_id = $1`,
      values: [world.userId]
    })
    expect(audited).toMatchObject([{ details: { reason: 'invitation' } }])
    const again = await accept(world.server.newBrowser(), token, { sub: 'mallory' })
    expect(again.statusCode).toBe(403)
    expect(again.body).toContain('This link is no longer available')
  })

  test('is not redeemed by another browser that learns the address of the question', async () => {
    const question = await accept(world.server.newBrowser())
    const other = world.server.newBrowser()
    await other.open(`${ISSUER}/login`)
    expect((await other.open(question.url)).statusCode).toBe(400)
    const proposal = new URL(question.url).searchParams.get('proposal') ?? ''
    const own = await accept(other, token, { sub: `${world.subject}-other` })
    expect((await other.submitOnly(own, { proposal })).statusCode).toBe(400)
    expect(await identities()).toEqual([])
  })

  test('links one identity if two persons answer in parallel', async () => {
    const persons = [world.subject, `${world.subject}-other`]
    const browsers = persons.map(() => world.server.newBrowser())
    const questions = await Promise.all(browsers.map((each, index) => accept(each, token, { sub: persons[index] })))
    const pages = await Promise.all(browsers.map((each, index) => each.submit(questions[index] as never, {})))
    expect(pages.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 403])
    expect(await identities()).toHaveLength(1)
  })

  test('is not used up by an identity that is linked to another user', async () => {
    const other = await world.server.createUser(`${world.username}-other`, PASSWORD)
    await insertIdentity(world.server, other, `${world.subject}-other`)
    const refused = await accept(world.server.newBrowser(), token, { sub: `${world.subject}-other` })
    expect(refused.body).toContain('Already linked')
    expect(refused.body).not.toContain(`${world.username}-other`)
    const browser = world.server.newBrowser()
    expect((await browser.submit(await accept(browser), {})).statusCode).toBe(200)
  })

  test.each(['', 'unknown'])('with the token %j is refused', async (given) => {
    expect((await accept(world.server.newBrowser(), given)).body).toContain('This link is no longer available')
  })
})
