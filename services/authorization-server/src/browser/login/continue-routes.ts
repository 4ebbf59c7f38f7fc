import type { FastifyPluginAsync } from 'fastify'
import { checkForm, type FormPage } from '../csrf/check-form.js'
import { clientQuery } from '../pending-requests/pending-request.js'
import type { ValidationDeps } from '../pending-requests/validate-request.js'
import { type CompletionDeps, redirectSignedIn } from './complete-sign-in.js'
import { findSignInRequest } from './sign-in-request.js'
import { refuseForeign, startAgain } from './start-again.js'

/**
 * `POST /login/continue`: "Continue as alice" of a request with `prompt=select_account`. The session stays as it is, and serves
 * this request once.
 */
export const continueRoutes: FastifyPluginAsync<FormPage & CompletionDeps & ValidationDeps> = async (
  pages,
  options
) => {
  pages.post('/login/continue', async (request, reply) => {
    const check = checkForm(request, options)
    if (check === 'foreign') return refuseForeign(request, reply, options)
    const user = request.signedIn
    const asked = check === 'own' ? await findSignInRequest(request, options) : undefined
    // The session has ended or is another one, or the address no longer allows the choice.
    if (user === undefined || asked?.canContinue !== true) return startAgain(clientQuery(request), reply, options)
    return redirectSignedIn(request, reply, user, { query: clientQuery(request), ...asked }, options)
  })
}
