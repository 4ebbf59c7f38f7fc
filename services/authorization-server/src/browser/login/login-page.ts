import type { FastifyReply, FastifyRequest } from 'fastify'
import { allowRequests, allowScripts, omitFormAction, PASSWORD_SCRIPTS } from '../../http/security-headers.js'
import { type AppBadge, appBadge, initialsOf } from '../../platform/clients/app-badge.js'
import type { Message } from '../../platform/i18n/language.js'
import type { NewClient } from '../../storage/postgres/clients.js'
import { createCsrfToken, type FormOwner } from '../csrf/csrf-token.js'
import { type StepPath, stepUrl } from '../pending-requests/pending-request.js'
import type { SessionOptions } from '../session/session-plugin.js'
import { showForms } from './show-forms.js'
import { type SignInRequest, stepQuery } from './sign-in-request.js'
import { type ForeignWay, orderedWays, type SignInWays } from './sign-in-ways.js'

export type LoginPageOptions = {
  issuer: string
  cookieKeys: readonly string[]
  session: Pick<SessionOptions, 'cookies'>
  ways: SignInWays
  /** The page of the operator on which users find help with sign-in. */
  helpUrl: string | undefined
}

/** @property notice a message key */
export type PageContent = { username: string; problem: Message | ''; wrong: boolean; done: string; notice: string }

export const EMPTY_FORM: PageContent = { username: '', problem: '', wrong: false, done: '', notice: '' }

/** The sign-in page. */
export async function showLoginPage(
  content: PageContent,
  { authorization, page, canContinue }: SignInRequest,
  request: FastifyRequest,
  reply: FastifyReply,
  options: LoginPageOptions
): Promise<FastifyReply> {
  const { issuer, cookieKeys, ways, helpUrl, session } = options
  // A remembered consent redirects to the client directly after the sign-in.
  if (authorization !== undefined) omitFormAction(reply)
  if (ways.local) allowScripts(reply)
  if (ways.forms.length > 0) allowRequests(reply)
  const owner = ownerOf(request)
  const forms = showForms(ways.forms, owner, request, options)
  const { localFirst, foreign } = orderedWays(ways, request.cookies[session.cookies.names.lastWay])
  const action = (path: StepPath) => stepUrl(issuer, path, stepQuery(request))
  return reply.view('login.hbs', {
    title: { key: canContinue ? 'login.choose' : 'login.title' },
    ...content,
    app: appOf(authorization?.client, issuer),
    canContinue,
    currentAccount: request.signedIn?.username ?? '',
    accountInitial: initialsOf(request.signedIn?.username ?? ''),
    isOtherOpen: content.problem !== '' || content.notice !== '',
    continueAction: action('/login/continue'),
    isConfirmation: page !== undefined && request.signedIn !== undefined,
    hasLocal: ways.local,
    localFirst,
    foreign: foreign.map((way) => ({ label: way.label, url: startUrl(way, request, options) })),
    helpUrl: helpUrl ?? '',
    csrfToken: createCsrfToken(cookieKeys, owner),
    action: action('/login'),
    scripts: [...(ways.local ? PASSWORD_SCRIPTS : []), ...forms.scripts],
    ...forms.content
  })
}

/** The app that asks; undefined without an authorization request, and before its document is read. */
function appOf(client: NewClient | undefined, issuer: string): AppBadge | undefined {
  if (client === undefined) return undefined
  const badge = appBadge(client, issuer)
  // The logo of an app that is not published needs a session.
  return client.isUnpublished === true ? { ...badge, logoUrl: undefined } : badge
}

export function ownerOf({ browserId, signedIn }: FastifyRequest): FormOwner {
  return { browserId, sessionHash: signedIn?.sessionHash }
}

/** A link and not a form: the policy `form-action` would stop the redirects of the provider (ADR 0010). */
export function startUrl(way: ForeignWay, request: FastifyRequest, { issuer }: { issuer: string }): string {
  return stepUrl(issuer, way.path, stepQuery(request))
}
