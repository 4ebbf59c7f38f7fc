import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Administration, changesIn, startAdministration } from '../../support/administration.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { startMailServer } from '../../support/mail-server.js'

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
