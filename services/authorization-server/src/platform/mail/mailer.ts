import { createTransport } from 'nodemailer'

/** @property language of the text (BCP 47) */
type Mail = { to: string; subject: string; text: string; language: string }

/** @returns why the mail was not sent; undefined if the mail server has accepted it */
export type Mailer = (mail: Mail) => Promise<string | undefined>

/** An operator waits for the result. */
const TIMEOUT_MS = 5_000
const TIMEOUTS = {
  dnsTimeout: TIMEOUT_MS,
  connectionTimeout: TIMEOUT_MS,
  greetingTimeout: TIMEOUT_MS,
  socketTimeout: 2 * TIMEOUT_MS
}

/** Sends mail by `SMTP_URL`. */
export function createMailer({ smtpUrl, mailFrom }: { smtpUrl: string; mailFrom: string }): Mailer {
  const transport = createTransport({ url: smtpUrl, ...TIMEOUTS })
  return async ({ language, ...mail }) => {
    const headers = { 'Content-Language': language }
    try {
      await transport.sendMail({ ...mail, headers, from: mailFrom, disableFileAccess: true, disableUrlAccess: true })
      return undefined
    } catch (error) {
      return problemOf(error)
    }
  }
}

/** Never the text of the mail server: it may repeat parts of the mail, which has a token. */
function problemOf(error: unknown): string {
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown }
  const reply = typeof responseCode === 'number' ? `, reply ${responseCode}` : ''
  switch (code) {
    case 'EAUTH':
    case 'ENOAUTH':
      return `the mail server refused the user name or the password of SMTP_URL${reply}`
    case 'EENVELOPE':
    case 'EMESSAGE':
      return `the mail server refused the mail: check MAIL_FROM and the address${reply}`
    case 'ETLS':
      return 'no secure connection to the mail server of SMTP_URL'
    default:
      return `the mail server of SMTP_URL cannot be reached or does not respond${reply}`
  }
}
