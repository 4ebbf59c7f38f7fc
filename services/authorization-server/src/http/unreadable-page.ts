import { parseParameters } from '@valetkey/oauth-protocol'
import type { UnreadableBody, UnreadableRequest } from '@valetkey/service-kit'
import type { FastifyInstance } from 'fastify'
import { collectPages } from './known-routes.js'
import { contextOf, languageChooser, type PagesOptions, withMessages } from './pages.js'
import { SECURITY_HEADERS, STRICT_TRANSPORT_SECURITY } from './security-headers.js'
import { unreadableOAuthError } from './send-oauth-error.js'
import { technicalDetails } from './technical-details.js'
import { compilePages, newEngine, type Page } from './templates.js'

const HEADERS_TOO_LARGE = 431

/**
 * The response to a request that reaches no route, on the listener with pages: a page for a person, the JSON of an OAuth error
 * for a program. No hook has run, so the page gets its language and headers here.
 */
export function unreadablePage(options: PagesOptions) {
  const { issuer, languages, files } = options
  const json = unreadableOAuthError(issuer)
  const context = contextOf(options)
  const languageOf = languageChooser(languages)
  const headers = { ...SECURITY_HEADERS, ...(issuer.startsWith('https:') && STRICT_TRANSPORT_SECURITY) }
  let isPage: (path: string) => boolean | undefined = () => undefined
  let errorPage: Page | undefined

  function render({ id, target = '', acceptLanguage }: UnreadableRequest): string {
    // Compiled at the first need, which most processes never have.
    errorPage ??= compilePages(files.templates, withMessages(newEngine())).get('error.hbs') as Page
    const query = target.split('?').slice(1).join('?')
    const text = (part: string) => ({ key: `page_error.not_routed.${part}`, values: {} })
    return errorPage({
      ...context,
      language: languageOf(parseParameters(query).get('ui_locales'), acceptLanguage),
      title: text('title'),
      message: text('message'),
      advice: text('advice'),
      retryUrl: '',
      app: undefined,
      leadsToAccount: false,
      technical: technicalDetails({ id })
    })
  }

  return {
    respond(request: UnreadableRequest): UnreadableBody {
      if (!isForPerson(request, isPage)) return json()
      return { contentType: 'text/html; charset=utf-8', body: render(request), headers }
    },

    /** Learns the paths of pages from the routes that are registered after this call. */
    observe(server: FastifyInstance, jsonPaths: readonly string[]): void {
      const isKnown = collectPages(server)
      isPage = (path) => (jsonPaths.includes(path) ? false : isKnown(path))
    }
  }
}

/** Browsers accept HTML. At an address of a page, any caller that does not ask for something else gets the page. */
function isForPerson(
  { status, target, accept }: UnreadableRequest,
  isPage: (path: string) => boolean | undefined
): boolean {
  // If headers are very long, only the last part may have been read. Browsers send their cookies last.
  if (target === undefined) return status === HEADERS_TOO_LARGE && accept === undefined
  const known = isPage(target.split('?', 1)[0] ?? '')
  if (known === false) return false
  return accept?.includes('text/html') === true || (known === true && (accept ?? '*/*').includes('*/*'))
}
