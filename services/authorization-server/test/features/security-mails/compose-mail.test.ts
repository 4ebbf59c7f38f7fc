import { describe, expect, test } from '@jest/globals'
import { composeMail, type MailTexts } from '../../../src/features/security-mails/compose-mail.js'
import type { ClaimedMail, SecurityNotice } from '../../../src/features/security-mails/security-mail-store.js'
import { loadLanguages } from '../../../src/platform/i18n/language.js'
import { NEW_SCOPE } from '../../support/new-scope.js'

const TEXTS: MailTexts = {
  issuer: 'https://auth.example.com',
  product: 'Valetkey',
  helpUrl: 'https://help.example.com/sign-in',
  languages: loadLanguages(),
  catalogue: [{ ...NEW_SCOPE, builtIn: true, name: 'files.read', title: 'See your files' }],
  apis: [{ audience: 'https://files.example.com', title: 'Files' }] as MailTexts['apis']
}

const AT = '2026-11-27T22:15:30.123456+00:00'
const ACCESS = {
  kind: 'access',
  at: AT,
  clientId: 'printer',
  name: 'Photo Printer',
  publisher: 'Acme',
  verified: false,
  audience: 'https://files.example.com',
  scope: ['files.read'],
  browser: 'Firefox, Linux'
} as const

function mailWith(notices: readonly SecurityNotice[], change: Partial<ClaimedMail> = {}): ClaimedMail {
  const user = { userId: 'u', username: 'alice', email: 'alice@example.com' }
  return { ...user, claim: 'c', notices, omitted: 0, language: 'en', ...change }
}

describe('a mail about an app', () => {
  test('names the app, its publisher, the API, scopes, time, browser and the page that ends the access', () => {
    const { subject, text } = composeMail(mailWith([ACCESS]), TEXTS)
    expect(subject).toBe('An app has access to your Valetkey account')
    expect(text.split('\n')).toEqual([
      'Account: alice',
      '',
      'An app got access to your account.',
      'App: Photo Printer',
      'Publisher: Acme (not checked by Valetkey)',
      'Applies to: Files (files.example.com)',
      'It may:',
      '- See your files',
      'Time: Nov 27, 2026, 10:15 PM (UTC)',
      'Browser: Firefox, Linux',
      'If you did not allow this, or no longer want it, end the access here:',
      'https://auth.example.com/account/apps/end?client_id=printer',
      '',
      'If you made these changes yourself, you need not do anything.',
      ''
    ])
  })

  test('says whether the publisher was checked, and leaves out what is not known', () => {
    expect(composeMail(mailWith([{ ...ACCESS, verified: true }]), TEXTS).text).toContain('Acme (checked by Valetkey)')
    const { text } = composeMail(mailWith([{ ...ACCESS, publisher: undefined, browser: '', audience: 'urn:x' }]), TEXTS)
    expect(text).not.toMatch(/Publisher|Browser/)
  })

  test('without registration names the host first, then the name that the app chose, and no publisher', () => {
    const clientId = 'https://app.example:8443/client.json'
    const { text } = composeMail(mailWith([{ ...ACCESS, clientId, name: 'Valetkey. Security' }]), TEXTS)
    expect(text).toContain('App: app.example:8443\nCalls itself: Valetkey. Security (not checked by Valetkey)\n')
    expect(text).not.toContain('Acme')
    expect(text).toContain('/account/apps/end?client_id=https%3A%2F%2Fapp.example%3A8443%2Fclient.json\n')
  })

  test('lists at most 20 scopes', () => {
    const scope = Array.from({ length: 23 }, (_, index) => `s${index}`)
    expect(composeMail(mailWith([{ ...ACCESS, scope }]), TEXTS).text).toContain('- s19\n- and 3 more things\n')
  })

  test('has no link and no line from names', () => {
    const name = 'A\r\n\r\nhttps://evil.example\u2028B'
    const { subject, text } = composeMail(mailWith([{ ...ACCESS, name, publisher: name }]), TEXTS)
    const clean = composeMail(mailWith([ACCESS]), TEXTS)
    expect([text.split('\n').length, subject]).toEqual([clean.text.split('\n').length, clean.subject])
    expect(text).not.toMatch(/evil\.|\/\/evil|[\r\u2028]/)
  })
})

describe('a mail about signing in', () => {
  test.each<{ notice: SecurityNotice; subject: string; parts: string[] }>([
    {
      notice: { kind: 'passkey_added', at: AT, name: 'evil.example' },
      subject: 'A passkey was added to your Valetkey account',
      parts: ['passkey: evil example\n', 'https://auth.example.com/account/passkeys\n']
    },
    {
      notice: { kind: 'identity_linked', at: AT, issuer: 'https://id.example.com/tenant' },
      subject: 'A new way to sign in to your Valetkey account',
      parts: ['Provider: id.example.com\n', 'https://auth.example.com/account/sign-ins\n']
    },
    {
      notice: { kind: 'password_changed', at: AT },
      subject: 'The password of your Valetkey account was set',
      parts: ['ask the operator of Valetkey', 'https://help.example.com/sign-in\n']
    }
  ])('of the kind $notice.kind says what to do', ({ notice, subject, parts }) => {
    const mail = composeMail(mailWith([notice]), TEXTS)
    expect(mail.subject).toBe(subject)
    for (const part of [...parts, 'Time: Nov 27, 2026, 10:15 PM (UTC)']) expect(mail.text).toContain(part)
  })

  test('about a password has no address without SIGN_IN_HELP_URL', () => {
    const texts = { ...TEXTS, helpUrl: undefined }
    expect(composeMail(mailWith([{ kind: 'password_changed', at: AT }]), texts).text).not.toContain('https:')
  })
})

describe('several changes', () => {
  test('are in one mail, with the number of those that are not listed', () => {
    const { subject, text } = composeMail(
      mailWith([ACCESS, { kind: 'password_changed', at: AT }], { omitted: 80 }),
      TEXTS
    )
    expect(subject).toBe('Changes to your Valetkey account')
    expect(text).toContain('got access')
    expect(text).toContain('new password')
    expect(text).toContain('80 more changes are not listed here')
    expect(text).toContain('https://auth.example.com/account/apps\n')
  })

  test('of which none is listed are counted', () => {
    expect(composeMail(mailWith([], { omitted: 1 }), TEXTS).text).toContain('1 more change is not listed here')
  })
})

test.each([
  { language: 'de', tag: 'de', subject: 'Eine App hat Zugriff auf Ihr Konto bei Valetkey' },
  { language: 'ar', tag: 'ar', subject: 'حصل تطبيق على وصول إلى حسابك في Valetkey' },
  { language: undefined, tag: 'en', subject: 'An app has access to your Valetkey account' },
  { language: 'xx', tag: 'en', subject: 'An app has access to your Valetkey account' }
])('the language $language of the user decides about the text', ({ language, tag, subject }) => {
  expect(composeMail(mailWith([ACCESS], { language }), TEXTS)).toMatchObject({ subject, language: tag })
})

test('the same mail has the same message id, and another mail has another one (RFC 5322 §3.6.4)', () => {
  const idOf = (...change: Parameters<typeof mailWith>) => composeMail(mailWith(...change), TEXTS).messageId
  expect(idOf([ACCESS], { claim: 'another' })).toBe(idOf([ACCESS]))
  expect(idOf([ACCESS])).toMatch(/^<[\w-]{43}@auth\.example\.com>$/)
  const others = [
    idOf([ACCESS], { userId: 'v' }),
    idOf([ACCESS], { omitted: 1 }),
    idOf([{ ...ACCESS, at: '2026-11-27T22:15:31Z' }])
  ]
  expect(new Set([idOf([ACCESS]), ...others]).size).toBe(4)
})
