import cookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import type { MacKey } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { MOST_CHOSEN, type SelectionStore } from '../storage/selections.js'
import type { ShownFiles } from '../storage/shown-files.js'
import { isOwnForm } from './check-form.js'
import {
  type Choice,
  formToken,
  isFormToken,
  openChoice,
  openLastChoice,
  sealChoice,
  sealLastChoice
} from './choice.js'
import { type Parameters, readIds, readPosition, readView, type View, writeView } from './file-filter.js'
import { finishChoice } from './finish-choice.js'
import type { HandOvers } from './hand-overs.js'
import { loadLanguages } from './language.js'
import { choosePageData, type Notice, titleKey } from './page-data.js'
import { ASSETS, createPages } from './pages.js'
import { createProblemPages } from './problem-pages.js'
import { startChoice } from './start-choice.js'
import { summarize } from './summarize.js'

export type ChooseDeps = {
  issuer: string
  resourceUrl: string
  handOvers: HandOvers
  selections: SelectionStore
  shownFiles: ShownFiles
  keys: readonly MacKey[]
  newId: () => string
  now: () => Date
}

const COOKIE = 'valetkey_choice'
const LAST_COOKIE = 'valetkey_last_choice'
const NOTICES: readonly string[] = ['full', 'none'] satisfies Notice[]

type Draft = { Params: { draftId: string }; Querystring: Parameters; Body: Parameters | undefined }
type Request = FastifyRequest<Draft>
/** `GET /choose?handover=…` and the pages below it: a user chooses the files that an app gets. */
export const chooseRoutes: FastifyPluginAsync<ChooseDeps> = async (server, deps) => {
  const { resourceUrl, keys, selections, shownFiles, now } = deps
  const sendPage = createPages(deps)
  const languageFor = loadLanguages()
  const problems = createProblemPages(sendPage, { resourceUrl, languageFor })
  await server.register(cookie)
  await server.register(formbody)
  const addressOf = (draftId: string) => `${resourceUrl}/choose/${draftId}`
  const choiceOf = ({ cookies, params }: Request) => openChoice(cookies[COOKIE], params.draftId, keys, now())

  server.setErrorHandler(problems.handleError)

  server.get<{ Querystring: Parameters }>('/choose', { exposeHeadRoute: false }, async (request, reply) => {
    const { handover } = request.query
    const lastChoice = (started: Pick<Choice, 'ownerId' | 'returnTo'>) =>
      openLastChoice(request.cookies[LAST_COOKIE], started, keys, now())
    const choice = await startChoice(typeof handover === 'string' ? handover : '', { ...deps, lastChoice })
    if (choice === undefined) return problems.send(request, reply, 'opened')
    const { draftId, expiresAt } = choice
    request.log.info({ event: 'choice_started', draftId }, 'a user chooses files for an app')
    const address = addressOf(draftId)
    setCookie(reply, COOKIE, sealChoice(choice, keys), address, expiresAt)
    return reply.header('cache-control', 'no-store').redirect(address, 303)
  })

  server.get<Draft>('/choose/:draftId', { exposeHeadRoute: false }, async (request, reply) => {
    const choice = choiceOf(request)
    if (choice === undefined) return problems.send(request, reply, 'expired')
    const view = readView(request.query)
    const counts = await selections.count(choice)
    if (counts === undefined)
      return problems.send(request, reply, 'expired', { language: languageFor(choice.language) })
    const [page, folders] = await Promise.all([shownFiles.page(choice, view, view), shownFiles.folders(choice.ownerId)])
    const language = languageFor(choice.language)
    const chosen = Object.values(counts).reduce((sum, files) => sum + files, 0)
    const notice = NOTICES.find((known) => known === request.query.notice) as Notice | undefined
    const data = choosePageData({ choice, view, language, now: now(), notice, page, folders, chosen })
    const form = { action: addressOf(choice.draftId), csrfToken: formToken(choice, keys) }
    const title = language.toText(titleKey(choice), { client: choice.clientName })
    return sendPage(reply, { view: 'choose', status: 200, language, title, data: { ...data, ...form } })
  })

  server.post<Draft>('/choose/:draftId', async (request, reply) => {
    if (!isOwnForm(request, resourceUrl)) return problems.send(request, reply, 'foreign_form')
    const choice = choiceOf(request)
    if (choice === undefined) return problems.send(request, reply, 'expired')
    const form = request.body ?? {}
    if (!isFormToken(form.csrf_token, choice, keys)) return problems.send(request, reply, 'foreign_form')
    if (form.do === 'cancel') return reply.redirect(choice.returnTo, 303)
    const stored = await store(choice, form)
    if (stored === 'unknown')
      return problems.send(request, reply, 'expired', { language: languageFor(choice.language) })
    const notice = stored === 'too_many' ? 'full' : undefined
    if (form.do === 'done' && notice === undefined) return finish(request, reply, choice)
    return show(reply, choice, nextView(form), notice)
  })

  function setCookie(reply: FastifyReply, name: string, value: string, address: string, expiresAt: number): void {
    reply.setCookie(name, value, {
      path: new URL(address).pathname,
      httpOnly: true,
      sameSite: 'lax',
      secure: resourceUrl.startsWith('https:'),
      expires: new Date(expiresAt)
    })
  }

  /** A new selection, so that it is ticked if the user comes back from the consent page. */
  function rememberChoice(
    reply: FastifyReply,
    { identifier, ownerId, returnTo, expiresAt }: Choice,
    selectionId: string
  ) {
    if (identifier !== undefined) return
    const last = sealLastChoice({ ownerId, returnTo, expiresAt, selectionId }, keys)
    setCookie(reply, LAST_COOKIE, last, `${resourceUrl}/choose`, expiresAt)
  }

  /** Stores what is ticked on the page, then what the button adds. */
  async function store(choice: Choice, form: Parameters) {
    const shown = readIds(form.shown)
    if (form.do === 'all_on_page') return selections.mark(choice, shown, shown)
    if (form.do === 'none_on_page') return selections.mark(choice, shown, [])
    const stored = await selections.mark(choice, shown, readIds(form.file))
    if (form.do !== 'all_found' || stored !== 'saved') return stored
    const found = await shownFiles.found(choice, readView(form), MOST_CHOSEN + 1)
    return selections.mark(choice, [], found)
  }

  function show(reply: FastifyReply, { draftId }: Choice, view: Partial<View>, notice?: Notice) {
    const query = writeView(view)
    const suffix = notice === undefined ? '' : `${query === '' ? '?' : '&'}notice=${notice}`
    return reply.redirect(`${addressOf(draftId)}${query}${suffix}`, 303)
  }

  async function finish(request: FastifyRequest, reply: FastifyReply, choice: Choice): Promise<FastifyReply> {
    const language = languageFor(choice.language)
    try {
      const outcome = await finishChoice(choice, { ...deps, summarize: (counts) => summarize(counts, language) })
      request.log.info(
        { event: 'choice_finished', draftId: choice.draftId, outcome: outcome.kind },
        'files were chosen'
      )
      switch (outcome.kind) {
        case 'finished':
          rememberChoice(reply, choice, outcome.selectionId)
          return reply.redirect(outcome.returnTo, 303)
        case 'nothing_chosen':
          return show(reply, choice, {}, 'none')
        case 'unknown_draft':
          return problems.send(request, reply, 'expired', { language })
        case 'request_ended':
          return problems.send(request, reply, 'ended', { language, backUrl: choice.returnTo })
        default:
          return outcome satisfies never
      }
    } catch (error) {
      const again = { action: addressOf(choice.draftId), csrfToken: formToken(choice, keys) }
      return problems.sendOutage(error, request, reply, { language, again })
    }
  }
}

/** What the page shows after a form: a search begins with the newest file. */
function nextView(form: Parameters): Partial<View> {
  const view = readView(form)
  switch (form.do) {
    case 'search':
      return { ...view, after: undefined, before: undefined }
    case 'newer':
      return { ...view, after: undefined, before: readPosition(form.newer) }
    case 'older':
      return { ...view, after: readPosition(form.older), before: undefined }
    case 'show_chosen':
      return { onlyChosen: true }
    case 'show_all':
      return {}
    default:
      return view
  }
}

/** The style sheet, the script and the icon of the pages. */
export const chooseAssets: FastifyPluginAsync = async (server) => {
  for (const { name, type, content } of ASSETS) {
    server.get(`/choose/assets/${name}`, async (_request, reply) => {
      return reply.header('cache-control', 'public, max-age=300').type(type).send(content)
    })
  }
}
