import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { lastChangeIn } from '../../support/administration.js'
import { ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { OPERATOR, runCommand } from '../../support/command-line.js'
import { startMailServer } from '../../support/mail-server.js'
import { disable } from '../../support/tokens.js'

describe('links', () => {
  const LINK = /^http:\/\/localhost:4000\/account-link\?token=[\w-]{43}$/
  const HOUR_MS = 3_600_000
  let server: TestServer
  let mailServer: Awaited<ReturnType<typeof startMailServer>>

  beforeAll(async () => {
    server = await startTestServer()
    mailServer = await startMailServer()
  })
  afterAll(async () => {
    await mailServer.close()
    await server.close()
  })

  const run = (args: string[], environment: Record<string, string> = { ISSUER }) =>
    runCommand(server.database, ['users', ...args], { environment })

  const linksOf = (username: string) =>
    server.database.query<{ purpose: string; hash: string; seconds: number }>({
      name: '',
      text: `select purpose, encode(token_hash, 'base64') as hash,
        extract(epoch from expires_at - now())::integer as seconds
      from account_links join users using (user_id) where username = $1`,
      values: [username]
    })

  describe('users create without a password', () => {
    test('creates the user and prints an invitation link that is valid for 72 hours', async () => {
      const { code, out, said } = await run(['create', 'bob', '--json'])
      expect([code, said]).toEqual([0, ''])
      const document = JSON.parse(out)
      expect(document).toEqual({
        user_id: expect.any(String),
        username: 'bob',
        url: expect.stringMatching(LINK),
        expires_at: expect.any(String),
        mailed: false
      })
      const [link] = await linksOf('bob')
      expect(link).toMatchObject({ purpose: 'invitation' })
      expect(Math.abs((link?.seconds ?? 0) - 72 * 3600)).toBeLessThan(60)
      expect(Math.abs(new Date(document.expires_at).getTime() - Date.now() - 72 * HOUR_MS)).toBeLessThan(60_000)
      expect(JSON.stringify(await linksOf('bob'))).not.toContain(new URL(document.url).searchParams.get('token'))
    })

    test('without ISSUER it is wrong usage (2), and no user is created', async () => {
      const { code, out, said } = await run(['create', 'dora'], {})
      expect([code, out, said]).toEqual([2, '', expect.stringMatching(/^ISSUER: is missing/)])
      expect((await run(['invite', 'dora'])).code).toBe(3)
    })

    test.each(['bob', 'bob@', '@example.com', 'a b@example.com', 'Bob <bob@example.com>', 'a@b,c@d', 'a@b\nto: x@y'])(
      'the address %j is wrong usage (2)',
      async (email) => {
        const { code, said } = await run(['create', 'erin', '--email', email])
        expect([code, said]).toEqual([2, expect.stringContaining('e-mail address')])
      }
    )
  })

  describe.each([
    { command: 'invite', purpose: 'invitation', hours: 72, event: 'user_invited' },
    { command: 'reset-link', purpose: 'password_reset', hours: 1, event: 'user_reset_link_created' }
  ])('users $command', ({ command, purpose, hours, event }) => {
    test('prints a link, stores only its hash, ends the earlier link, and is audited without the link', async () => {
      const userId = await server.createUser(`user of ${command}`, 'a password of words')
      const links = [await run([command, `user of ${command}`]), await run([command, userId])].map(
        ({ out }) => out.split('\n')[0] ?? ''
      )
      expect(links).toEqual([expect.stringMatching(LINK), expect.stringMatching(LINK)])
      expect(links[0]).not.toBe(links[1])
      const stored = await linksOf(`user of ${command}`)
      expect(stored).toEqual([expect.objectContaining({ purpose })])
      expect(Math.abs((stored[0]?.seconds ?? 0) - hours * 3600)).toBeLessThan(60)
      const entry = await lastChangeIn(server)
      const details = { username: `user of ${command}`, actor: { kind: 'command_line', name: OPERATOR } }
      expect(entry).toMatchObject({ event, user_id: userId, details })
      expect(JSON.stringify(entry)).not.toContain('account-link')
    })

    test('an unknown user is not found (3); a disabled one is a conflict (4)', async () => {
      expect((await run([command, 'unknown-user'])).code).toBe(3)
      await disable(server, 'user', await server.createUser(`disabled ${command}`, 'a password of words'))
      const { code, out, said } = await run([command, `disabled ${command}`])
      expect([code, out, said]).toEqual([4, '', expect.stringContaining('is disabled')])
    })
  })

  test('reset-link with LOCAL_SIGN_IN=false is a conflict (4), and the earlier link stays; invite works', async () => {
    const withoutLocal = { ISSUER, LOCAL_SIGN_IN: 'false' }
    await run(['create', 'hugo'], withoutLocal)
    const before = await linksOf('hugo')
    const { code, out, said } = await run(['reset-link', 'hugo'], withoutLocal)
    expect([code, out, said]).toEqual([4, '', expect.stringMatching(/^LOCAL_SIGN_IN is false, .*invite the user/)])
    expect([before.length, await linksOf('hugo')]).toEqual([1, before])
    expect((await run(['invite', 'hugo'], withoutLocal)).code).toBe(0)
  })

  describe('mail', () => {
    const withMail = () => ({ ISSUER, SMTP_URL: mailServer.url, MAIL_FROM: 'Valetkey <no-reply@example.com>' })

    test('with SMTP_URL and an address, the link is printed and also sent', async () => {
      const { code, out } = await run(['create', 'frida', '--email', 'frida@example.com', '--json'], withMail())
      const { url, mailed } = JSON.parse(out)
      expect([code, mailed]).toEqual([0, true])
      const mail = mailServer.mails.at(-1)
      expect(mail?.to).toEqual(['frida@example.com'])
      expect(mail?.content).toContain(url)
      expect(mail?.content).toMatch(/From: Valetkey <no-reply@example\.com>[\s\S]*Subject: Your invitation to Valetkey/)
    })

    test.each([
      {
        language: 'de',
        subject: 'Ihre Einladung zu Valetkey',
        text: 'Sie sind eingeladen, sich bei Valetkey als hanna-de anzumelden. Öffnen Sie'
      },
      { language: 'ar', subject: 'دعوتك إلى Valetkey', text: 'أنت مدعوّ لتسجيل الدخول إلى Valetkey باسم hanna-ar' }
    ])('an invitation in $language', async ({ language, subject, text }) => {
      const username = `hanna-${language}`
      const options = ['--email', 'hanna@example.com', '--language', language, '--json']
      const { out } = await run(['create', username, ...options], withMail())
      const content = mailServer.mails.at(-1)?.content
      expect(content).toMatch(new RegExp(`^Subject: ${subject}\\r?$`, 'm'))
      expect(content).toMatch(new RegExp(`^Content-Language: ${language}\\r?$`, 'im'))
      expect(content).toContain(text)
      expect(content).toContain(JSON.parse(out).url)
    })

    test('a reset link in German, for a user who was created without a language', async () => {
      await run(['create', 'ida', '--email', 'ida@example.com'], withMail())
      expect(mailServer.mails.at(-1)?.content).toContain('Your invitation to Valetkey')
      await run(['reset-link', 'ida', '--language', 'de'], withMail())
      expect(mailServer.mails.at(-1)?.content).toContain('Mit diesem Link legen Sie ein neues Passwort für ida')
    })

    test('a language without texts is wrong usage (2): no user, no link, no mail', async () => {
      const before = mailServer.mails.length
      const options = ['--email', 'jan@example.com', '--language', 'xx']
      const refused = [
        await run(['create', 'jan', ...options], withMail()),
        await run(['invite', 'frida', '--language', 'DE'], withMail())
      ]
      for (const { code, out, said } of refused) {
        expect([code, out, said]).toEqual([2, '', expect.stringContaining('the language must be one of ar, de, en')])
      }
      expect((await run(['invite', 'jan'])).code).toBe(3)
      expect(mailServer.mails).toHaveLength(before)
    })

    test('without an address nothing is sent', async () => {
      const before = mailServer.mails.length
      const { out } = await run(['create', 'gina', '--json'], withMail())
      expect([JSON.parse(out).mailed, mailServer.mails.length]).toEqual([false, before])
    })

    test('a mail server that cannot be reached: the link is printed, and stderr says why it was not sent', async () => {
      const closed = await startMailServer()
      await closed.close()
      const settings = { ...withMail(), SMTP_URL: closed.url }
      const { code, out, said } = await run(['reset-link', 'frida', '--json'], settings)
      const document = JSON.parse(out)
      expect([code, document.mailed]).toEqual([0, false])
      expect(document.url).toMatch(LINK)
      expect(document.mail_problem).toMatch(/cannot be reached/)
      expect(said).toBe(`valetkey: the link was not sent: ${document.mail_problem}\n`)
    })

    test('SMTP_URL without MAIL_FROM is refused before a link is made', async () => {
      await expect(run(['invite', 'frida'], { ISSUER, SMTP_URL: mailServer.url })).rejects.toThrow(
        /MAIL_FROM: is missing/
      )
    })
  })
})
