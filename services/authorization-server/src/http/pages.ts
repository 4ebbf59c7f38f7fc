import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import view from '@fastify/view'
import { parseParameters } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import handlebars, { type HelperOptions } from 'handlebars'
import { chooseLanguage } from '../platform/i18n/choose-language.js'
import { DEFAULT_LANGUAGE, type Language, type Message } from '../platform/i18n/language.js'
import { rawQuery } from '../platform/request-parts.js'
import type { Branding } from './branding.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of the pages that answer this request. */
    language: Language
  }
  interface FastifyReply {
    locals?: { language: Language }
  }
  interface FastifyContextConfig {
    /** The route answers JSON and never a page, so it needs neither a language nor the headers of pages. */
    answersPrograms?: boolean
  }
}

export type PagesOptions = { issuer: string; languages: ReadonlyMap<string, Language>; branding: Branding }

const VIEWS = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../views')

/** Templates, language and security headers of everything that is shown to a person. */
export const pagesPlugin = fastifyPlugin<PagesOptions>(
  async (pages, { issuer, languages, branding }) => {
    await pages.register(view, {
      engine: { handlebars: withMessages(handlebars.create()) },
      root: VIEWS,
      layout: 'layout.hbs',
      options: {
        // A name that is missing from the data is an error and not an empty string.
        compileOptions: { strict: true, preventIndent: true },
        partials: { tick: 'partials/tick.hbs', 'scope-words': 'partials/scope-words.hbs' }
      },
      defaultContext: {
        product: branding.productName,
        stylesheet: `${issuer}/assets/style.css`,
        icon: `${issuer}/assets/icon.svg`,
        logo: branding.logo === undefined ? '' : `${issuer}/assets/logo`
      }
    })
    const tags = [DEFAULT_LANGUAGE, ...[...languages.keys()].filter((tag) => tag !== DEFAULT_LANGUAGE)]
    const fallback = languages.get(DEFAULT_LANGUAGE) as Language
    pages.decorateRequest('language', null as unknown as Language)
    const isHttps = issuer.startsWith('https:')
    // With a callback, and nothing but HSTS for programs: this runs at every request, POST /token included.
    pages.addHook('onRequest', (request, reply, done) => {
      if (isHttps) reply.header('strict-transport-security', 'max-age=31536000')
      if (request.routeOptions.config.answersPrograms === true) return done()
      const uiLocales = parseParameters(rawQuery(request)).get('ui_locales')
      const tag = chooseLanguage({ uiLocales, acceptLanguage: request.headers['accept-language'] }, tags)
      request.language = languages.get(tag ?? '') ?? fallback
      reply.locals = { language: request.language }
      reply
        .header('cache-control', 'no-store')
        .header('referrer-policy', 'same-origin')
        .header('x-frame-options', 'DENY')
      allowForms(reply, [])
      done()
    })
  },
  { name: 'valetkey-pages', fastify: '5.x' }
)

/**
 * The content security policy of a page. Browsers hold the redirects after a form to `form-action` as well, so a page
 * whose form ends at the client must name where that is.
 */
export function allowForms(reply: FastifyReply, targets: readonly string[]): void {
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    `form-action ${["'self'", ...targets].join(' ')}`,
    "base-uri 'none'",
    "frame-ancestors 'none'"
  ]
  reply.header('content-security-policy', policy.join('; '))
}

/** `GET /assets/…`: the one stylesheet with the operator's accent, the icon and the logo, read once. */
export const assetRoutes: FastifyPluginAsync<{ branding: Branding }> = async (site, { branding }) => {
  const stylesheet = await readFile(path.join(VIEWS, 'style.css'), 'utf8')
  const accent = branding.accentColor === undefined ? '' : await propertiesOf(branding.accentColor)
  const assets = [
    { name: 'style.css', type: 'text/css; charset=utf-8', content: Buffer.from(stylesheet + accent) },
    { name: 'icon.svg', type: 'image/svg+xml', content: await readFile(path.join(VIEWS, 'icon.svg')) },
    ...(branding.logo === undefined ? [] : [{ name: 'logo', ...branding.logo }])
  ]
  for (const { name, type, content } of assets) {
    site.get(`/assets/${name}`, async (_request, reply) => {
      reply.header('cache-control', 'public, max-age=300').type(type)
      return content
    })
  }
}

/** `{{t "key" name=value}}` writes a text as markup, `{{text …}}` as plain text; both take a key or a whole message. */
function withMessages(engine: typeof handlebars): typeof handlebars {
  const read = (message: string | Message, options: HelperOptions) => {
    const { key, values } = typeof message === 'string' ? { key: message, values: {} } : message
    const { language } = options.data.root as { language: Language }
    return { language, message: { key, values: { ...values, ...options.hash } } }
  }
  engine.registerHelper('t', (given: string | Message, options: HelperOptions) => {
    const { language, message } = read(given, options)
    return new engine.SafeString(language.toHtml(message))
  })
  engine.registerHelper('text', (given: string | Message, options: HelperOptions) => {
    const { language, message } = read(given, options)
    return language.toText(message)
  })
  return engine
}

/** What knows about colours is loaded only where an operator has set one. */
async function propertiesOf(accentColor: string): Promise<string> {
  const { accentProperties } = await import('./accent-color.js')
  return accentProperties(accentColor)
}
