import type { Author } from '../../operator/use-cases/actor.js'
import { findUser } from '../../operator/use-cases/administer-users.js'
import { AdministrationError } from '../../operator/use-cases/administration-error.js'
import { recordChange } from '../../operator/use-cases/record-change.js'
import { DEFAULT_LANGUAGE, type Language } from '../../platform/i18n/language.js'
import type { User, UserStore } from '../../storage/postgres/users.js'
import type { AccountLinkPurpose, AccountLinkStore } from './account-link-store.js'
import { hashAccountLinkToken, newAccountLinkToken } from './account-link-token.js'
import type { AccountLinkMailer } from './mail-account-link.js'

export type AccountLinkAdministration = {
  /** Links begin with it, never with a `Host` header. */
  issuer: string
  /** Whether users sign in with a password. */
  local: boolean
  users: Pick<UserStore, 'findById'>
  accountLinks: Pick<AccountLinkStore, 'add'>
  /** Undefined without `SMTP_URL`. */
  mailLink: AccountLinkMailer | undefined
  /** The languages of mails, by tag. */
  languages: ReadonlyMap<string, Language>
}

/** @property mailProblem why the mail was not sent; undefined if it was, or if there is no mail server or no address */
export type GivenLink = { user: User; url: string; expiresAt: Date; isMailed: boolean; mailProblem: string | undefined }

const HOUR = 3600
const SECONDS: Readonly<Record<AccountLinkPurpose, number>> = { invitation: 72 * HOUR, password_reset: HOUR }
const EVENTS = { invitation: 'user_invited', password_reset: 'user_reset_link_created' } as const

/**
 * Makes a link with which the user sets a password or, if invited, links a provider. An earlier link of the user ends.
 * @param command.language tag of the mail's language; English if undefined
 */
export async function giveAccountLink(
  command: { userId: string; purpose: AccountLinkPurpose; language?: string | undefined },
  author: Author,
  deps: AccountLinkAdministration
): Promise<GivenLink> {
  const { userId, purpose } = command
  const language = requireLanguage(command.language, deps)
  const user = await findUser(userId, deps)
  if (purpose === 'password_reset' && !deps.local) {
    throw new AdministrationError(
      'conflict',
      'LOCAL_SIGN_IN is false, so a new password would be of no use; invite the user to link a provider instead'
    )
  }
  const token = newAccountLinkToken()
  const link = { userId, purpose, tokenHash: hashAccountLinkToken(token) as Buffer, seconds: SECONDS[purpose] }
  const event = { event: EVENTS[purpose], userId, details: { username: user.username } }
  const expiresAt = await recordChange(event, author, (note) => deps.accountLinks.add(link, note))
  if (expiresAt === undefined) {
    throw new AdministrationError('conflict', `user ${user.username} is disabled; enable the user first`)
  }
  const url = `${deps.issuer}/account-link?token=${token}`
  return { user, url, expiresAt, ...(await mail(user, { purpose, url, language }, deps)) }
}

/** @throws {AdministrationError} if there are no texts in this language */
export function requireLanguage(
  tag: string = DEFAULT_LANGUAGE,
  { languages }: Pick<AccountLinkAdministration, 'languages'>
): Language {
  const language = languages.get(tag)
  if (language === undefined) {
    throw new AdministrationError('invalid', `the language must be one of ${[...languages.keys()].join(', ')}`)
  }
  return language
}

async function mail(
  { email, username }: User,
  link: { purpose: AccountLinkPurpose; url: string; language: Language },
  { mailLink }: AccountLinkAdministration
): Promise<Pick<GivenLink, 'isMailed' | 'mailProblem'>> {
  if (mailLink === undefined || email === undefined) return { isMailed: false, mailProblem: undefined }
  const mailProblem = await mailLink({ to: email, username, ...link })
  return { isMailed: mailProblem === undefined, mailProblem }
}

export function givenLinkDocument({ user, url, expiresAt, isMailed, mailProblem }: GivenLink) {
  return {
    user_id: user.userId,
    username: user.username,
    url,
    expires_at: expiresAt.toISOString(),
    mailed: isMailed,
    ...(mailProblem !== undefined && { mail_problem: mailProblem })
  }
}
