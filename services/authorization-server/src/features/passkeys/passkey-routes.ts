import { mayRemoveWay, readPasskeyName } from '@valetkey/sign-in-rules'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { countChanges } from '../../browser/account/count-changes.js'
import { checkForm, refuseForeignForm } from '../../browser/csrf/check-form.js'
import { reopenSession } from '../../browser/session/reopen-session.js'
import { isFresh, type SignedIn } from '../../browser/session/session-plugin.js'
import { formOf } from '../../platform/request-parts.js'
import { addOptions, addPasskey } from './add-passkey.js'
import type { PasskeyDeps } from './passkey-deps.js'
import { confirmUrl, showPasskeys } from './passkey-page.js'
import { isPasskeyId } from './verify-response.js'

/** `/account/passkeys`: lists the passkeys of the user, with forms that add, rename and remove one. */
export const passkeyRoutes: FastifyPluginAsync<PasskeyDeps> = async (pages, options) => {
  const { issuer, audit, passkeys, session } = options
  const page = `${issuer}/account/passkeys`

  countChanges(pages, options)

  pages.get('/account/passkeys', async (request, reply) => {
    const user = request.signedIn
    if (user === undefined) return reply.redirect(confirmUrl(issuer), 303)
    return showPasskeys({ user }, request, reply, options)
  })

  // Serves the script of the page, which asks for another challenge. 403: the form would lead to sign-in.
  pages.get('/account/passkeys/options', async (request, reply) => {
    const { signedIn: user, browserId } = request
    const { relyingParty } = options
    if (user === undefined || relyingParty === undefined || !isFresh(user, session.now())) return reply.code(403).send()
    const present = await passkeys.list(user.userId)
    return reply.type('application/json').send(await addOptions(user, browserId, present, relyingParty, options))
  })

  pages.post('/account/passkeys/add', async (request, reply) => {
    const user = userOfForm(request, reply, options, 'must_be_fresh')
    if (user === undefined) return reply
    const outcome = await addPasskey(user, request, options)
    if (outcome !== 'added') return showPasskeys({ user, problem: outcome }, request, reply, options)
    audit.record(request, { event: 'passkey_added', userId: user.userId })
    return reply.redirect(`${page}?done=added`, 303)
  })

  pages.post('/account/passkeys/rename', async (request, reply) => {
    const user = userOfForm(request, reply, options)
    if (user === undefined) return reply
    const passkeyId = formOf(request).get('passkey_id')
    const name = readPasskeyName(formOf(request).get('name'))
    if (name === undefined) return showPasskeys({ user, problem: 'passkeys.bad_name' }, request, reply, options)
    if (isPasskeyId(passkeyId)) await passkeys.rename(user.userId, passkeyId, name)
    return reply.redirect(`${page}?done=renamed`, 303)
  })

  pages.post('/account/passkeys/remove', { config: { isEnding: true } }, async (request, reply) => {
    const user = userOfForm(request, reply, options, 'must_be_fresh')
    if (user === undefined) return reply
    const passkeyId = formOf(request).get('passkey_id')
    const ways = await options.ways.find(user.userId, options.configured)
    if (!mayRemoveWay(ways)) return showPasskeys({ user, problem: 'passkeys.only_way' }, request, reply, options)
    // Undefined also after another removal at the same moment: the page shows what is left.
    const changed = isPasskeyId(passkeyId) && (await passkeys.remove(user, passkeyId))
    if (!changed) return reply.redirect(page, 303)
    audit.record(request, { event: 'passkey_removed', userId: user.userId })
    await reopenSession(request, reply, { user: changed }, session)
    return reply.redirect(`${page}?done=removed`, 303)
  })
}

/** @returns undefined if the response was sent instead */
function userOfForm(
  request: FastifyRequest,
  reply: FastifyReply,
  { issuer, cookieKeys, audit, session, relyingParty }: PasskeyDeps,
  condition?: 'must_be_fresh'
): SignedIn | undefined {
  const page = `${issuer}/account/passkeys`
  const user = request.signedIn
  const check = checkForm(request, { issuer, cookieKeys })
  if (check === 'foreign') refuseForeignForm(request, reply, { issuer, audit, retryUrl: page })
  // The form was shown to another session: show the present list.
  else if (check === 'stale' || user === undefined || relyingParty === undefined) reply.redirect(page, 303)
  else if (condition === 'must_be_fresh' && !isFresh(user, session.now())) reply.redirect(confirmUrl(issuer), 303)
  else return user
  return undefined
}
