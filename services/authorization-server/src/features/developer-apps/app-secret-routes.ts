import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import { accountNavigation } from '../../browser/account/account-navigation.js'
import { allowScripts, COPY_SCRIPTS } from '../../http/security-headers.js'
import { formOf } from '../../platform/request-parts.js'
import { showApp } from './app-page.js'
import { addAppSecret, deleteAppSecret } from './app-secrets.js'
import { knownSecrets } from './app-view.js'
import { type AppRequest, appUrl, type DeveloperPageOptions, refuse, userOfForm } from './developer-page.js'
import { findOwnApp } from './own-apps.js'

const PATH = '/account/developer/apps/:id/secrets'

/** Creates and removes client secrets. A new one is shown once, on the page that responds to the form. */
export const secretRoutes: FastifyPluginAsync<DeveloperPageOptions> = async (pages, options) => {
  const { issuer } = options

  pages.post(PATH, async (request: AppRequest, reply) => {
    const { id: clientId } = request.params
    const user = userOfForm(request, reply, `developer/apps/${clientId}`, options, 'must_be_fresh')
    if (user === undefined) return reply
    const found = await findOwnApp(user, clientId, options)
    if (found === undefined) return refuse({ kind: 'unknown_app' }, request, reply, options)
    const refused = (key: string) =>
      showApp({ user, clientId, problem: { at: 'app', message: { key } } }, request, reply, options)
    // The form was sent before, by a second click or a reload: another secret would be live, and the first one unseen.
    if ((formOf(request).get('known_secrets') ?? '') !== knownSecrets(found.secrets))
      return refused('developer.secret_stale')
    const outcome = await addAppSecret(clientId, { user, request }, options)
    switch (outcome.kind) {
      case 'unknown_app':
      case 'session_ended':
        return refuse(outcome, request, reply, options)
      case 'two_are_live':
        return refused('developer.secret_stale')
      case 'without_secrets':
        return reply.redirect(appUrl(issuer, clientId), 303)
      case 'created': {
        const { clientSecret } = outcome
        return showSecret({ clientId, clientSecret, name: found.app.settings.name }, reply, options)
      }
    }
  })

  pages.post(`${PATH}/remove`, { config: { isEnding: true } }, async (request: AppRequest, reply) => {
    const { id: clientId } = request.params
    const user = userOfForm(request, reply, `developer/apps/${clientId}`, options, 'must_be_fresh')
    if (user === undefined) return reply
    const secretId = formOf(request).get('secret_id') ?? ''
    const outcome = await deleteAppSecret({ clientId, secretId }, { user, request }, options)
    switch (outcome.kind) {
      case 'unknown_app':
      case 'session_ended':
        return refuse(outcome, request, reply, options)
      case 'only_live_secret': {
        const problem = { at: 'app', message: { key: 'developer.last_secret' } } as const
        return showApp({ user, clientId, problem }, request, reply, options)
      }
      case 'done':
        return reply.redirect(`${appUrl(issuer, clientId)}?done=secret_removed`, 303)
    }
  })
}

/**
 * @property isNew the app was registered with this secret
 * @property page address to which the link leads
 */
type ShownSecret = { clientId: string; clientSecret: string; name: string; isNew?: boolean; page?: string }

/**
 * Shows the secret in the response to the form and nowhere else: neither the address nor the log has it, and browsers do not
 * store the page.
 */
export function showSecret(
  { clientId, clientSecret, name, isNew = false, page }: ShownSecret,
  reply: FastifyReply,
  { issuer }: { issuer: string }
): FastifyReply {
  allowScripts(reply)
  return reply.view('account-developer-secret.hbs', {
    title: isNew ? { key: 'developer.registered_title', values: { client: name } } : { key: 'developer.secret_title' },
    scripts: COPY_SCRIPTS,
    isNew,
    account: accountNavigation(issuer, 'developer'),
    name,
    clientId,
    clientSecret,
    appUrl: page ?? appUrl(issuer, clientId)
  })
}
