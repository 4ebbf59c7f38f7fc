import type { Mailbox } from '@valetkey/sign-in-rules'
import type { Language } from '../../platform/i18n/language.js'
import { createMailer } from '../../platform/mail/mailer.js'

type MailSettings = { productName: string; smtpUrl: string | undefined; mailFrom: Mailbox | undefined }

type AccountLinkMail = {
  to: string
  username: string
  purpose: 'invitation' | 'password_reset'
  url: string
  language: Language
}

export type AccountLinkMailer = (mail: AccountLinkMail) => Promise<string | undefined>

/**
 * @returns a function that sends a link to its user; it returns why the mail was not sent, undefined if it was. Undefined without
 *   a mail server.
 */
export function createAccountLinkMailer(settings: MailSettings): AccountLinkMailer | undefined {
  const { smtpUrl, mailFrom, productName: product } = settings
  if (smtpUrl === undefined || mailFrom === undefined) return undefined
  const mailer = createMailer({ smtpUrl, mailFrom })
  return ({ to, username, purpose, url, language }) => {
    const text = (part: string) => language.toText({ key: `mail.${purpose}.${part}`, values: { product, username } })
    const paragraphs = [text('text'), url, text('advice')]
    return mailer({ to, subject: text('subject'), text: `${paragraphs.join('\n\n')}\n`, language: language.tag })
  }
}
