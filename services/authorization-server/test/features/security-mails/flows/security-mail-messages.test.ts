import { expect, test } from '@jest/globals'
import { composeMail } from '../../../../src/features/security-mails/compose-mail.js'
import type { ClaimedMail, SecurityNotice } from '../../../../src/features/security-mails/security-mail-store.js'
import { createLanguage, type Language } from '../../../../src/platform/i18n/language.js'
import { english, messagesOf } from '../../../support/used-messages.js'

const at = '2026-11-27T22:15:30Z'
const app = { kind: 'access', at, clientId: 'a', name: 'n', publisher: 'p', verified: false, audience: 'x' } as const
const scope = Array.from({ length: 21 }, (_, index) => `s${index}`)
const NOTICES: readonly SecurityNotice[] = [
  { ...app, scope, browser: 'Firefox' },
  { ...app, scope, browser: 'Firefox', verified: true },
  { ...app, scope, browser: 'Firefox', clientId: 'https://app.example/client' },
  { kind: 'passkey_added', at, name: 'n' },
  { kind: 'identity_linked', at, issuer: 'https://id.example' },
  { kind: 'password_changed', at }
]

test('every text of security mails is used, and no text is missing that is used', () => {
  const used = new Set<string>()
  const language = createLanguage('en', english)
  const recording: Language = {
    ...language,
    toText(message) {
      used.add(message.key)
      return language.toText(message)
    }
  }
  const texts = { issuer: 'https://a.example', product: 'P', helpUrl: undefined, catalogue: [], apis: [] }
  const compose = (notices: readonly SecurityNotice[], omitted: number) => {
    const mail: ClaimedMail = { userId: 'u', claim: 'c', notices, omitted, language: 'en', username: 'a', email: 'a@b' }
    composeMail(mail, { ...texts, languages: new Map([['en', recording]]) })
  }
  for (const notice of NOTICES) compose([notice], 0)
  compose(NOTICES, 1)
  expect(messagesOf('security-mails').present).toEqual([...used].toSorted())
})
