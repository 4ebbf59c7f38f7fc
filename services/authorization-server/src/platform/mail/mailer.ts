import { isMailAddress, type Mailbox } from '@valetkey/sign-in-rules'

/** @property to one address @property language of the text (BCP 47) @property messageId default: a random one */
type Mail = { to: string; subject: string; text: string; language: string; messageId?: string }

/** @returns why the mail was not sent; undefined if the mail server has accepted it */
export type Mailer = (mail: Mail) => Promise<string | undefined>

/** An operator waits for the result of some mails. */
const TIMEOUT_MS = 5_000
const TIMEOUTS = {
  dnsTimeout: TIMEOUT_MS,
  connectionTimeout: TIMEOUT_MS,
  greetingTimeout: TIMEOUT_MS,
  socketTimeout: 2 * TIMEOUT_MS
}

/** Sends mail by `SMTP_URL`. */
export function createMailer({ smtpUrl, mailFrom }: { smtpUrl: string; mailFrom: Mailbox }): Mailer {
  let transport: Awaited<ReturnType<typeof openTransport>> | undefined
  return async ({ language, to, ...content }) => {
    // The library would send a list to several people.
    if (!isMailAddress(to)) return 'the e-mail address of the user is not valid'
    const mail = { ...content, to: { name: '', address: to }, from: mailFrom, headers: headersOf(language) }
    try {
      transport ??= await openTransport(smtpUrl)
      const { accepted } = await transport.sendMail({ ...mail, disableFileAccess: true, disableUrlAccess: true })
      return accepted.length === 1 ? undefined : 'the mail server did not take the mail'
    } catch (error) {
      return problemOf(error)
    }
  }
}

/** Loads the library when it is first used, because most services and commands send no mail. */
async function openTransport(url: string) {
  const { createTransport } = await import('nodemailer')
  return createTransport({ url, ...TIMEOUTS })
}

/**
 * These headers prevent answers of programs, such as an absence note, which could repeat the link (RFC 3834 §5; the second is
 * Exchange's).
 */
const headersOf = (language: string) => ({
  'Auto-Submitted': 'auto-generated',
  'X-Auto-Response-Suppress': 'All',
  'Content-Language': language
})

/** Returns a text of ours, never that of the mail server: it may repeat parts of the mail, which has a token. */
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
