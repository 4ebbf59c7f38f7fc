import type { FastifyReply, FastifyRequest } from 'fastify'
import { checkForm, refuseForeignForm } from '../../browser/csrf/check-form.js'
import { isFresh } from '../../browser/session/session-plugin.js'
import { formOf } from '../../platform/request-parts.js'
import { type ShownForm, showAppForm } from './app-form-page.js'
import { inputOf, readTyped, type TypedApp } from './app-form-view.js'
import { type AppInput, readAppInput } from './app-input.js'
import { type ProblemView, problemView } from './app-problem-view.js'
import { type DeveloperPageOptions, mayStore } from './developer-page.js'
import { listOfferedScopes } from './own-apps.js'
import { readAppForm, type SentLogo } from './read-app-form.js'
import { readLogo } from './read-logo.js'

/** A form that may be used. */
export type ReceivedForm = { typed: TypedApp; input: AppInput }

/** @returns undefined if the response was sent instead: the form with what was typed */
export async function receiveAppForm(
  shown: Pick<ShownForm, 'user' | 'app'>,
  request: FastifyRequest,
  reply: FastifyReply,
  options: DeveloperPageOptions
): Promise<ReceivedForm | undefined> {
  const { issuer, cookieKeys, audit, now } = options
  const logo = await readAppForm(request)
  const check = checkForm(request, { issuer, cookieKeys })
  if (check === 'foreign') {
    refuseForeignForm(request, reply, { issuer, audit, retryUrl: `${issuer}/account/developer` })
    return undefined
  }
  const typed = readTyped(formOf(request), await listOfferedScopes(shown.app?.settings, options))
  const show = (problem: Partial<ShownForm>) => showAppForm({ ...shown, typed, ...problem }, request, reply, options)
  if (check === 'stale') await show({ notice: 'send_again' })
  else if (!isFresh(shown.user, now())) await show({ notice: 'sign_in' })
  else {
    const read = await readFields(typed, logo, shown, options)
    if (read.kind === 'input') return { typed, input: read.input }
    await show(read.kind === 'invalid' ? { problems: read.problems } : { notice: read.kind })
  }
  return undefined
}

/** The logo last: its file is stored before the app. */
async function readFields(
  typed: TypedApp,
  sent: SentLogo,
  { user, app }: Pick<ShownForm, 'user' | 'app'>,
  options: DeveloperPageOptions
): Promise<
  | { kind: 'input'; input: AppInput }
  | { kind: 'invalid'; problems: readonly ProblemView[] }
  | { kind: 'too_many_changes' }
> {
  const present = (app?.pending ?? app?.settings)?.branding.logo
  const read = await readAppInput(inputOf(typed, present), app, options)
  if (read.kind === 'invalid') return { kind: 'invalid', problems: read.problems.map(problemView) }
  if (!(await mayStore(user, options))) return { kind: 'too_many_changes' }
  const logo = await readLogo(sent, { present, removes: typed.removesLogo }, options.clientLogos)
  if (logo.kind === 'logo') return { kind: 'input', input: inputOf(typed, logo.hash) }
  return { kind: 'invalid', problems: [{ id: 'logo', message: { key: logo.problem } }] }
}
