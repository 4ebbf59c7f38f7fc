import type { FastifyRequest } from 'fastify'
import { accountPage, ownParameters } from '../../../browser/login/account-page.js'
import { hashId } from '../../../browser/session/random-id.js'
import { isFresh } from '../../../browser/session/session-plugin.js'
import type { SignInPurpose } from './sign-in-attempt-store.js'

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
