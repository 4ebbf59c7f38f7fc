import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { accountNavigation } from '../../browser/account/account-navigation.js'
import { countChanges } from '../../browser/account/count-changes.js'
import { checkForm, type FormPage, refuseForeignForm } from '../../browser/csrf/check-form.js'
import { createCsrfToken } from '../../browser/csrf/csrf-token.js'
import type { SignedIn } from '../../browser/session/session-plugin.js'
import type { AccessChoice } from '../../platform/access-ends.js'
import type { Limiter } from '../../platform/rate-limits/limiter.js'
import { formOf, queryOf } from '../../platform/request-parts.js'
import type { ConnectedApp, ConnectedAppStore } from '../../storage/postgres/connected-apps.js'
import type { AccessEndStore } from './access-end-store.js'
import { labelOf, readChosen, shorterChoices } from './choices-of-client.js'

type ShorteningOptions = FormPage & {
  choices: readonly AccessChoice[]
  connectedApps: Pick<ConnectedAppStore, 'list'>
  accessEnds: AccessEndStore
  limiter: Pick<Limiter, 'count'>
  now: () => Date
}

type Shown = { app: ConnectedApp; user: SignedIn; isMissing?: boolean }

export const SHORTENING_PATH = '/account/apps/shorten'

/** `/account/apps/shorten`: makes the end of an app's access earlier. No form makes it later. */
export const shorteningRoutes: FastifyPluginAsync<ShorteningOptions> = async (pages, options) => {
  const { issuer, audit, accessEnds, now } = options
  const listUrl = `${issuer}/account/apps`

  countChanges(pages, options)

  pages.get(SHORTENING_PATH, async (request, reply) => {
    const user = request.signedIn
    if (user === undefined) return reply.redirect(`${issuer}/login`, 303)
    const app = await findApp(user, queryOf(request).get('client_id'), options)
    return app === undefined ? reply.redirect(listUrl, 303) : showChoices({ app, user }, request, reply, options)
  })

  pages.post(SHORTENING_PATH, { config: { isEnding: true } }, async (request, reply) => {
    const check = checkForm(request, options)
    if (check === 'foreign') return refuseForeignForm(request, reply, { issuer, audit, retryUrl: listUrl })
    const user = request.signedIn
    // The form was shown to another session: show the present list.
    if (check === 'stale' || user === undefined) return reply.redirect(listUrl, 303)
    const app = await findApp(user, formOf(request).get('client_id'), options)
    // The access has ended, or ends earlier than any choice.
    if (app === undefined) return reply.redirect(listUrl, 303)
    const chosen = readChosen(formOf(request), shorterChoices(options.choices, app, now()))
    if (chosen.kind !== 'chosen' || chosen.seconds === undefined) {
      return showChoices({ app, user, isMissing: true }, request, reply.code(422), options)
    }
    const endsAt = new Date(now().getTime() + chosen.seconds * 1000)
    const { clientId } = app
    for (const grantId of await accessEnds.shorten(user.userId, clientId, endsAt)) {
      audit.record(request, { event: 'access_shortened', clientId, userId: user.userId, grantId, endsAt })
    }
    return reply.redirect(`${listUrl}?done=shortened`, 303)
  })
}

/** @returns undefined if there is no choice: the app has no access, or it ends earlier */
async function findApp(
  { userId }: SignedIn,
  clientId: string | undefined,
  { connectedApps, choices, now }: ShorteningOptions
): Promise<ConnectedApp | undefined> {
  const app = (await connectedApps.list(userId)).find((each) => each.clientId === clientId)
  return app !== undefined && shorterChoices(choices, app, now()).length > 0 ? app : undefined
}

function showChoices(
  { app, user, isMissing = false }: Shown,
  request: FastifyRequest,
  reply: FastifyReply,
  { issuer, cookieKeys, choices, now }: ShorteningOptions
): FastifyReply {
  const offered = shorterChoices(choices, app, now())
  return reply.view('account-choices.hbs', {
    title: { key: 'choices.shorten_title', values: { client: app.name } },
    account: accountNavigation(issuer, 'apps'),
    clientId: app.clientId,
    isMissing,
    ends: {
      title: 'choices.from_now',
      advice: 'choices.never_longer',
      choices: offered.map((choice) => ({
        value: choice.value,
        label: labelOf(choice, 0, request.language),
        isSelected: false
      }))
    },
    csrfToken: createCsrfToken(cookieKeys, { browserId: request.browserId, sessionHash: user.sessionHash }),
    action: `${issuer}${SHORTENING_PATH}`,
    cancelUrl: `${issuer}/account/apps`
  })
}
