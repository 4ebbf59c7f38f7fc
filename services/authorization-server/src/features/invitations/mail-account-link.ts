import type { Language } from '../../platform/i18n/language.js'
import type { Mailer } from '../../platform/mail/mailer.js'

type AccountLinkMail = {
  to: string
  username: string
  purpose: 'invitation' | 'password_reset'
  url: string
  language: Language
}

export type AccountLinkMailer = (mail: AccountLinkMail) => Promise<string | undefined>

/** @returns a function that sends a link to its user; it returns why the mail was not sent, undefined if it was */
export function createAccountLinkMailer(mailer: Mailer, product: string): AccountLinkMailer {
  return ({ to, username, purpose, url, language }) => {
    const text = (part: string) => language.toText({ key: `mail.${purpose}.${part}`, values: { product, username } })
    const paragraphs = [text('text'), url, text('advice')]
    return mailer({ to, subject: text('subject'), text: `${paragraphs.join('\n\n')}\n`, language: language.tag })
  }
}
