import type { FastifyReply, FastifyRequest } from 'fastify'
import { accountNavigation } from '../../browser/account/account-navigation.js'
import { isFresh, type SignedIn } from '../../browser/session/session-plugin.js'
import { allowScripts, COPY_SCRIPTS } from '../../http/security-headers.js'
import type { Message } from '../../platform/i18n/language.js'
import { appView } from './app-view.js'
import { appUrl, confirmUrl, csrfTokenFor, type DeveloperPageOptions, refuse } from './developer-page.js'
import { findOwnApp, listOfferedScopes } from './own-apps.js'

/** The notice for `?done=…`. */
const DONE: ReadonlyMap<unknown, string> = new Map([
  ['registered', 'developer.done_registered'],
  ['saved', 'developer.done_saved'],
  ['pending', 'developer.done_pending'],
  ['requested', 'developer.done_requested'],
  ['published', 'developer.done_published'],
  ['withdrawn', 'developer.done_withdrawn'],
  ['secret_removed', 'developer.done_secret_removed'],
  ['invited', 'developer.done_invited'],
  ['added', 'developer.done_added'],
  ['removed', 'developer.done_removed'],
  ['disabled', 'developer.done_disabled']
])

/** @property problem about a form that was not accepted, and what was typed there */
export type ShownApp = {
  user: SignedIn
  clientId: string
  done?: string | undefined
  problem?: { at: 'app' | 'owners' | 'testers'; message: Message; typed?: string }
}

export async function showApp(
  { user, clientId, done, problem }: ShownApp,
  request: FastifyRequest,
  reply: FastifyReply,
  options: DeveloperPageOptions
): Promise<FastifyReply> {
  const { issuer, cookieKeys, mode, now, defaultAudience } = options
  const found = await findOwnApp(user, clientId, options)
  if (found === undefined) return refuse({ kind: 'unknown_app' }, request, reply, options)
  const catalogue = await listOfferedScopes(found.app.settings, options)
  const url = appUrl(issuer, clientId)
  const problemAt = (place: NonNullable<typeof problem>['at']) => (problem?.at === place ? problem.message : '')
  const typedAt = (place: 'owners' | 'testers') => (problem?.at === place ? (problem.typed ?? '') : '')
  allowScripts(reply)
  return reply.code(problem === undefined ? 200 : 422).view('account-developer-app.hbs', {
    title: { key: 'developer.app_title', values: { client: found.app.settings.name } },
    account: accountNavigation(issuer, 'developer'),
    done: (problem === undefined && DONE.get(done)) || '',
    problem: problemAt('app'),
    ownerProblem: problemAt('owners'),
    typedOwner: typedAt('owners'),
    testerProblem: problemAt('testers'),
    typedTester: typedAt('testers'),
    scripts: COPY_SCRIPTS,
    ...appView({ ...found, catalogue, userId: user.userId, mode, issuer, defaultAudience }, request.language),
    confirmUrl: isFresh(user, now()) ? '' : confirmUrl(issuer, `developer/apps/${clientId}`),
    csrfToken: csrfTokenFor(user, request, cookieKeys),
    listUrl: `${issuer}/account/developer`,
    url
  })
}
