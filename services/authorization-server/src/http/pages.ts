import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import view from '@fastify/view'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type handlebars from 'handlebars'
import type { HelperOptions } from 'handlebars'
import { chooseLanguage } from '../platform/i18n/choose-language.js'
import { DEFAULT_LANGUAGE, type Language, type Message } from '../platform/i18n/language.js'
import { queryOf } from '../platform/request-parts.js'
import type { Branding } from './branding.js'
import type { PageFiles } from './page-files.js'
import { STRICT_TRANSPORT_SECURITY, setSecurityHeaders } from './security-headers.js'
import { compilePages, newEngine, type Page, VIEWS } from './templates.js'

const LANGUAGE = Symbol('valetkey.language')

declare module 'fastify' {
  interface FastifyRequest {
    /** Language of the page that is sent, chosen when it is first needed. */
    readonly language: Language
    /** `ui_locales` of an authorization request that the address does not contain. */
    uiLocales: string | undefined
    [LANGUAGE]: Language | undefined
  }
  interface FastifyReply {
    /** Data of every page of this response; a hook may set members of `contextOf`. */
    locals: { language?: Language; developerPages?: string } | undefined
    /** `view` with a compiled page. Routes call `view` with the file name of a template. */
    viewCompiled(page: Page, data: object): FastifyReply
  }
  interface FastifyContextConfig {
    /** The route sends JSON and never a page, so it does not need the headers of pages. */
    sendsJson?: boolean
  }
}

export type PagesOptions = {
  issuer: string
  languages: ReadonlyMap<string, Language>
  branding: Branding
  /** Whether the account has pages for developers of apps. */
  hasDeveloperPages: boolean
  files: PageFiles
}

/** The browser part of the WebAuthn library, as its package contains it. */
const WEBAUTHN_SCRIPT = path.resolve(
  path.dirname(createRequire(import.meta.url).resolve('@simplewebauthn/browser')),
  '../dist/bundle/index.umd.min.js'
)

const STYLESHEET = 'text/css; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'

/** Templates, language and security headers of all pages. */
export const pagesPlugin = fastifyPlugin<PagesOptions>(
  async (pages, options) => {
    const { issuer, files } = options
    const engine = withMessages(newEngine())
    const compiled = compilePages(files.templates, engine)
    const defaultContext = contextOf(options)
    await pages.register(view, { engine: { handlebars: engine }, propertyName: 'viewCompiled', defaultContext })
    pages.decorateReply('view', function (name: string, data: object = {}) {
      const page = compiled.get(name)
      if (page === undefined) throw new Error(`there is no template ${name}`)
      this.locals = { ...this.locals, language: this.request.language }
      return this.viewCompiled(page, data)
    })
    const choose = languageChooser(options.languages)
    pages.decorateRequest(LANGUAGE, undefined)
    pages.decorateRequest('uiLocales', undefined)
    pages.decorateRequest('language', {
      getter(this: FastifyRequest) {
        this[LANGUAGE] ??= choose(this.uiLocales ?? queryOf(this).get('ui_locales'), this.headers['accept-language'])
        return this[LANGUAGE]
      }
    })
    const isHttps = issuer.startsWith('https:')
    // The hook has a callback, and programs get only HSTS, because this runs for every request, POST /token included.
    pages.addHook('onRequest', (request, reply, done) => {
      if (isHttps) reply.headers(STRICT_TRANSPORT_SECURITY)
      if (request.routeOptions.config.sendsJson === true) return done()
      setSecurityHeaders(reply)
      done()
    })
  },
  { name: 'valetkey-pages', fastify: '5.x' }
)

/** Data of every page. */
export function contextOf({ issuer, branding, hasDeveloperPages }: Omit<PagesOptions, 'languages' | 'files'>) {
  return {
    product: branding.productName,
    assets: `${issuer}/assets`,
    errorsUrl: `${issuer}/errors`,
    accountUrl: `${issuer}/account/apps`,
    stylesheet: `${issuer}/assets/style.css`,
    icon: `${issuer}/assets/icon.svg`,
    logo: branding.logo === undefined ? '' : `${issuer}/assets/logo`,
    developerPages: hasDeveloperPages ? `${issuer}/account/developer` : '',
    // Names of assets. A page with scripts also calls `allowScripts`.
    scripts: []
  }
}

/** Chooses the language of a page from `ui_locales` in its address and from `Accept-Language`. */
export function languageChooser(languages: PagesOptions['languages']) {
  const tags = [DEFAULT_LANGUAGE, ...[...languages.keys()].filter((tag) => tag !== DEFAULT_LANGUAGE)]
  const fallback = languages.get(DEFAULT_LANGUAGE) as Language
  return (uiLocales: string | undefined, acceptLanguage: string | undefined): Language => {
    return languages.get(chooseLanguage({ uiLocales, acceptLanguage }, tags) ?? '') ?? fallback
  }
}

/** `GET /assets/…`: the stylesheet with the operator's accent colour, the icon, the scripts and the logo, read once at start. */
export const assetRoutes: FastifyPluginAsync<{ branding: Branding; files: PageFiles }> = async (site, options) => {
  const { branding, files } = options
  const assets = [
    { name: 'style.css', type: STYLESHEET, content: await withAccent(files.stylesheet, branding.accentColor) },
    { name: 'icon.svg', type: 'image/svg+xml', content: await readIcon() },
    { name: 'webauthn.js', type: SCRIPT, content: await readFile(WEBAUTHN_SCRIPT) },
    { name: 'show-password.js', type: SCRIPT, content: await readFile(path.join(VIEWS, 'show-password.js')) },
    { name: 'busy-button.js', type: SCRIPT, content: await readFile(path.join(VIEWS, 'busy-button.js')) },
    { name: 'copy-button.js', type: SCRIPT, content: await readFile(path.join(VIEWS, 'copy-button.js')) },
    { name: 'passkey.js', type: SCRIPT, content: await readFile(path.join(VIEWS, 'passkey.js')) },
    ...(branding.logo === undefined ? [] : [{ name: 'logo', ...branding.logo }])
  ]
  for (const { name, type, content } of assets) {
    site.get(`/assets/${name}`, async (_request, reply) => {
      reply.header('cache-control', 'public, max-age=300').type(type)
      return content
    })
  }
}

/** `{{t "key" name=value}}` inserts a text as markup, `{{text …}}` as plain text. Both accept a key or a message. */
export function withMessages(engine: typeof handlebars): typeof handlebars {
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

/** The built-in stylesheet with the operator's accent colour. */
export async function readStylesheet(accentColor: string | undefined): Promise<Buffer> {
  return withAccent(await readFile(path.join(VIEWS, 'style.css'), 'utf8'), accentColor)
}

async function withAccent(stylesheet: string, accentColor: string | undefined): Promise<Buffer> {
  return Buffer.from(stylesheet + (accentColor === undefined ? '' : await propertiesOf(accentColor)))
}

export const readIcon = (): Promise<Buffer> => readFile(path.join(VIEWS, 'icon.svg'))

/** Loads the colour library only if the operator has set a colour. */
async function propertiesOf(accentColor: string): Promise<string> {
  const { accentProperties } = await import('./accent-color.js')
  return accentProperties(accentColor)
}
