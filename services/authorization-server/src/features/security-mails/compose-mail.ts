import { hash } from 'node:crypto'
import { isClientIdUrl } from '@valetkey/oauth-protocol'
import { describeApi } from '../../platform/i18n/describe-api.js'
import { describeScope } from '../../platform/i18n/describe-scope.js'
import { DEFAULT_LANGUAGE, type Language, type Message } from '../../platform/i18n/language.js'
import type { Api } from '../../storage/postgres/resource-servers.js'
import type { Scope } from '../../storage/postgres/scopes.js'
import type { AccessNotice, ClaimedMail, SecurityNotice } from './security-mail-store.js'
import { withoutLinks } from './without-links.js'

export type MailTexts = {
  issuer: string
  product: string
  /** `SIGN_IN_HELP_URL` */
  helpUrl: string | undefined
  languages: ReadonlyMap<string, Language>
  catalogue: readonly Scope[]
  apis: readonly Api[]
}

export type ComposedMail = { subject: string; text: string; language: string; messageId: string }

/** Scopes of one notice. */
const MOST_SCOPES = 20

/**
 * The plain text of a mail. The subject has no text of apps and users, and their names have no links.
 * @returns also the id of the message: a repetition of the same mail has the same one, so mail servers can drop it (RFC 5322 §3.6.4)
 */
export function composeMail(mail: ClaimedMail, texts: MailTexts): ComposedMail {
  const { languages, product } = texts
  const language = (languages.get(mail.language ?? '') ?? languages.get(DEFAULT_LANGUAGE)) as Language
  const write = (key: string, values: Message['values'] = {}) =>
    language.toText({ key: `security_mail.${key}`, values: { product, ...values } })
  const parts = [
    write('account', { username: mail.username }),
    ...mail.notices.map((notice) => describeNotice(notice, write, language, texts)),
    ...(mail.omitted > 0 ? [`${write('omitted', { count: mail.omitted })}\n${texts.issuer}/account/apps`] : []),
    write('footer')
  ]
  return {
    subject: write(`subject.${subjectOf(mail)}`),
    text: `${parts.join('\n\n')}\n`,
    language: language.tag,
    messageId: messageIdOf(mail, texts)
  }
}

type Write = (key: string, values?: Message['values']) => string

/** One kind of change, or `several`. */
function subjectOf({ notices, omitted }: ClaimedMail): SecurityNotice['kind'] | 'several' {
  const [first] = notices
  return first === undefined || notices.length + omitted > 1 ? 'several' : first.kind
}

function describeNotice(notice: SecurityNotice, write: Write, language: Language, texts: MailTexts): string {
  const { issuer, helpUrl } = texts
  const title = write(`title.${notice.kind}`)
  const time = write('time', { at: new Date(notice.at) })
  const text = (...lines: string[]) => [title, ...lines].join('\n')
  switch (notice.kind) {
    case 'access':
      return text(...describeAccess(notice, write, language, texts), time, ...endOf(notice, write, issuer))
    case 'passkey_added': {
      const name = write('passkey', { name: withoutLinks(notice.name) })
      return text(name, time, write('remove_passkey'), `${issuer}/account/passkeys`)
    }
    case 'identity_linked': {
      const host = URL.canParse(notice.issuer) ? new URL(notice.issuer).host : withoutLinks(notice.issuer)
      return text(write('provider', { host }), time, write('unlink_identity'), `${issuer}/account/sign-ins`)
    }
    case 'password_changed':
      return text(time, write('wrong_password_change'), ...(helpUrl === undefined ? [] : [helpUrl]))
  }
}

function describeAccess(
  { clientId, name, publisher, verified, scope, audience }: AccessNotice,
  write: Write,
  language: Language,
  { catalogue, apis }: MailTexts
): string[] {
  const { title, host } = describeApi(audience, apis, language)
  const api = title === '' ? host : `${withoutLinks(title)} (${host})`
  const shown = scope.slice(0, MOST_SCOPES)
  return [
    ...describeApp({ clientId, name, publisher, verified }, write),
    write('api', { api }),
    write('scopes'),
    ...shown.map((each) => `- ${describeScope(each, catalogue, language).title}`),
    ...(scope.length > shown.length ? [write('more_scopes', { count: scope.length - shown.length })] : [])
  ]
}

/** The host of the client id comes first for a discovered client, because its name is not checked. */
function describeApp(
  { clientId, name, publisher, verified }: Pick<AccessNotice, 'clientId' | 'name' | 'publisher' | 'verified'>,
  write: Write
): string[] {
  const shownName = withoutLinks(name)
  if (isClientIdUrl(clientId)) {
    return [write('app', { app: new URL(clientId).host }), write('calls_itself', { name: shownName })]
  }
  const key = verified ? 'checked_publisher' : 'unchecked_publisher'
  return [
    write('app', { app: shownName }),
    ...(publisher === undefined ? [] : [write(key, { publisher: withoutLinks(publisher) })])
  ]
}

/** The page asks before it ends the access, and needs a session. */
function endOf({ clientId, browser }: AccessNotice, write: Write, issuer: string): string[] {
  const endUrl = `${issuer}/account/apps/end?${new URLSearchParams({ client_id: clientId })}`
  return [...(browser === '' ? [] : [write('browser', { browser })]), write('end_access'), endUrl]
}

function messageIdOf({ userId, notices, omitted }: ClaimedMail, { issuer }: MailTexts): string {
  const content = hash('sha256', JSON.stringify([userId, notices, omitted]), 'base64url')
  return `<${content}@${new URL(issuer).hostname}>`
}
