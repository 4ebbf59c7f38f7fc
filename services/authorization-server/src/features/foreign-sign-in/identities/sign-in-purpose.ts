import { parseParameters } from '@valetkey/oauth-protocol'
import type { FastifyRequest } from 'fastify'
import { clientQuery } from '../../../browser/pending-requests/pending-request.js'
import { hashId } from '../../../browser/session/random-id.js'
import { isFresh } from '../../../browser/session/session-plugin.js'
import { rawQuery } from '../../../platform/request-parts.js'
import type { AccountPage, AppPage, SignInPurpose } from './sign-in-attempt-store.js'

/** Pages of the account that a sign-in leads to. */
const ACCOUNT_PAGES: readonly AccountPage[] = [
  'apps',
  'sign-ins',
  'password',
  'passkeys',
  'sessions',
  'developer',
  'developer/new'
]
/** Pages of an app of the user. */
const APP_PAGE = /^developer\/apps\/[\w-]{1,64}(\/edit)?$/

/** The page of the account that the address names with `page`. */
export function accountPage(request: FastifyRequest): AccountPage | undefined {
  const named = ownParameters(request).get('page')
  return ACCOUNT_PAGES.find((page) => page === named) ?? (isAppPage(named) ? named : undefined)
}

/**
 * Valetkey's parameters. In an authorization request these names are the client's: unknown parameters, which are ignored
 * (RFC 6749 §3.1).
 */
function ownParameters(request: FastifyRequest): ReturnType<typeof parseParameters> {
  return parseParameters(clientQuery(request) === '' ? rawQuery(request) : '')
}

function isAppPage(named: string | undefined): named is AppPage {
  return named !== undefined && APP_PAGE.test(named)
}

/**
 * What a sign-in with a provider or a login page is for, as the address of its start says: `purpose=link`,
 * `purpose=invitation&token=…` or `page=…`; else to sign in.
 * @returns undefined if the user must sign in again first, because linking needs a fresh sign-in: redirect to
 *   `/login?page=sign-ins`
 */
export function signInPurposeOf(request: FastifyRequest, now: Date): SignInPurpose | undefined {
  const parameters = ownParameters(request)
  const { signedIn } = request
  switch (parameters.get('purpose')) {
    case 'link':
      return signedIn !== undefined && isFresh(signedIn, now)
        ? { kind: 'link', userId: signedIn.userId, sessionHash: signedIn.sessionHash }
        : undefined
    case 'invitation':
      return { kind: 'invitation', tokenHash: hashId(parameters.get('token') ?? '') }
  }
  const page = accountPage(request)
  return page === undefined || signedIn === undefined ? { kind: 'sign_in', page } : { kind: 'confirm', page }
}
