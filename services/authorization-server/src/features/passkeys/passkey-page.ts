import { mayRemoveWay } from '@valetkey/sign-in-rules'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { accountNavigation } from '../../browser/account/account-navigation.js'
import { createCsrfToken } from '../../browser/csrf/csrf-token.js'
import { browserAndSystem } from '../../browser/session/describe-browser.js'
import { isFresh, type SignedIn } from '../../browser/session/session-plugin.js'
import { allowRequests, allowScripts } from '../../http/security-headers.js'
import { formOf, queryOf } from '../../platform/request-parts.js'
import { addOptions, findObstacle } from './add-passkey.js'
import type { PasskeyDeps } from './passkey-deps.js'
import { PASSKEY_SCRIPTS } from './passkey-scripts.js'
import type { Passkey } from './passkey-store.js'

/** @property problem key of the text about a form that was not accepted */
type Shown = { user: SignedIn; problem?: string }

/** The notice for `?done=…`. */
const DONE: ReadonlyMap<unknown, string> = new Map([
  ['added', 'passkeys.done_added'],
  ['renamed', 'passkeys.done_renamed'],
  ['removed', 'passkeys.done_removed']
])

/** Sign-in, from which the browser comes back to the passkeys. */
export function confirmUrl(issuer: string): string {
  return `${issuer}/login?page=passkeys`
}

export async function showPasskeys(
  { user, problem }: Shown,
  request: FastifyRequest,
  reply: FastifyReply,
  options: PasskeyDeps
): Promise<FastifyReply> {
  const { issuer, cookieKeys, relyingParty, session } = options
  if (relyingParty === undefined) return reply.redirect(`${issuer}/account/sign-ins`, 303)
  const [passkeys, ways] = await Promise.all([
    options.passkeys.list(user.userId),
    options.ways.find(user.userId, options.configured)
  ])
  const fresh = isFresh(user, session.now())
  const obstacle = findObstacle(ways)
  const mayAdd = fresh && obstacle === undefined
  if (mayAdd) {
    allowScripts(reply)
    allowRequests(reply)
  }
  return reply.code(problem === undefined ? 200 : 422).view('account-passkeys.hbs', {
    title: { key: 'passkeys.title' },
    account: accountNavigation(issuer, 'sign-ins'),
    done: (problem === undefined && DONE.get(queryOf(request).get('done'))) || '',
    problem: problem ?? '',
    passkeys: passkeys.map(passkeyView),
    mayRemove: fresh && mayRemoveWay(ways),
    isOnlyWay: passkeys.length > 0 && !mayRemoveWay(ways),
    obstacle: obstacle ?? '',
    confirmUrl: fresh ? '' : confirmUrl(issuer),
    csrfToken: createCsrfToken(cookieKeys, { browserId: request.browserId, sessionHash: user.sessionHash }),
    addUrl: `${issuer}/account/passkeys/add`,
    optionsUrl: `${issuer}/account/passkeys/options`,
    renameUrl: `${issuer}/account/passkeys/rename`,
    removeUrl: `${issuer}/account/passkeys/remove`,
    scripts: mayAdd ? PASSKEY_SCRIPTS : [],
    passkeyOptions: mayAdd ? await addOptions(user, request.browserId, passkeys, relyingParty, options) : '',
    // The user can go on with what was typed.
    suggestedName: formOf(request).get('name') ?? suggestedName(request)
  })
}

/** Where the passkey is added, such as `Chrome on Linux`. Empty if neither is known. */
function suggestedName({ headers, language }: FastifyRequest): string {
  const [browser, system] = browserAndSystem(headers['user-agent'])
  if (browser === undefined || system === undefined) return browser ?? system ?? ''
  return language.toText({ key: 'passkeys.suggested_name', values: { browser, system } })
}

function passkeyView({ passkeyId, name, synced, createdAt, lastUsedAt }: Passkey) {
  const place = synced ? 'passkeys.synced' : 'passkeys.one_device'
  return { passkeyId, name, place, createdAt, lastUsedAt: lastUsedAt ?? '' }
}
