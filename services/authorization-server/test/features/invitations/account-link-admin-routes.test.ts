import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Administration, changesIn, lastChangeIn, startAdministration } from '../../support/administration.js'
import { ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { PASSWORD } from '../../support/flow.js'
import { HANDOFF } from '../../support/handoff.js'
import { startMailServer } from '../../support/mail-server.js'

describe.each([
  { name: 'with local accounts', settings: {}, reset: 201 },
  { name: 'with LOCAL_SIGN_IN=false', settings: { ...HANDOFF, LOCAL_SIGN_IN: 'false' }, reset: 409 }
])('$name', ({ settings, reset }) => {
  let server: TestServer
  let admin: Administration
  let userId: string

  beforeAll(async () => {
    server = await startTestServer(settings)
    admin = await startAdministration(server)
    userId = await server.createUser('alice', PASSWORD)
  })
  afterAll(() => server.close())

  test('POST /admin/users/{user_id}/invitation is 201 with a link that opens, and is audited', async () => {
    const answer = await admin.call('POST', `/users/${userId}/invitation`)
    expect([answer.statusCode, answer.json()]).toEqual([
      201,
      {
        user_id: userId,
        username: 'alice',
        url: expect.stringContaining(`${ISSUER}/account-link?token=`),
        expires_at: expect.stringMatching(/Z$/),
        mailed: false
      }
    ])
    expect((await server.newBrowser().open(answer.json().url)).statusCode).toBe(200)
    const details = { username: 'alice', actor: admin.actor }
    expect(await lastChangeIn(server)).toMatchObject({ event: 'user_invited', user_id: userId, details })
  })

  test(`POST /admin/users/{user_id}/reset-link is ${reset}: a link that opens, or a reason and no link`, async () => {
    const before = await changesIn(server)
    const answer = await admin.call('POST', `/users/${userId}/reset-link`)
    expect(answer.statusCode).toBe(reset)
    if (reset === 201) {
      expect((await server.newBrowser().open(answer.json().url)).statusCode).toBe(200)
      expect(await lastChangeIn(server)).toMatchObject({ event: 'user_reset_link_created', user_id: userId })
    } else {
      expect(answer.json().detail).toMatch(/^LOCAL_SIGN_IN is false/)
      expect(await changesIn(server)).toEqual(before)
    }
  })
})

describe('mails', () => {
  let server: TestServer
  let admin: Administration
  let mailServer: Awaited<ReturnType<typeof startMailServer>>
  let userId: string

  beforeAll(async () => {
    mailServer = await startMailServer()
    server = await startTestServer({ SMTP_URL: mailServer.url, MAIL_FROM: 'no-reply@example.com' })
    admin = await startAdministration(server)
    const created = await admin.call('POST', '/users', { username: 'bob', email: 'bob@example.com' })
    userId = created.json().user_id
  })
  afterAll(async () => {
    await mailServer.close()
    await server.close()
  })

  describe.each([
    { path: 'invitation', english: 'Your invitation to Valetkey', german: 'Ihre Einladung zu Valetkey' },
    { path: 'reset-link', english: 'Set a new password for Valetkey', german: 'Neues Passwort für Valetkey festlegen' }
  ])('POST /admin/users/{user_id}/$path', ({ path, english, german }) => {
    test.each([
      { query: '', subject: english },
      { query: '?language=de', subject: german }
    ])('with the query "$query" the mail has the subject "$subject", and the link', async ({ query, subject }) => {
      const answer = await admin.call('POST', `/users/${userId}/${path}${query}`)
      expect([answer.statusCode, answer.json().mailed]).toEqual([201, true])
      const mail = mailServer.mails.at(-1)
      expect(mail?.to).toEqual(['bob@example.com'])
      expect(mail?.content).toMatch(new RegExp(`^Subject: ${subject}\\r?$`, 'm'))
      expect(mail?.content).toContain(answer.json().url)
    })

    test.each([
      { query: '?language=xx', status: 422 },
      { query: '?language=', status: 422 },
      { query: '?language=de&language=en', status: 400 },
      { query: '?languages=de', status: 400 }
    ])('$query is $status: no link is made, and no mail is sent', async ({ query, status }) => {
      const before = [await changesIn(server), mailServer.mails.length]
      expect((await admin.call('POST', `/users/${userId}/${path}${query}`)).statusCode).toBe(status)
      expect([await changesIn(server), mailServer.mails.length]).toEqual(before)
    })
  })
})
