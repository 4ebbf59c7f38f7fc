import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import view from '@fastify/view'
import { parseParameters } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import handlebars, { type HelperOptions } from 'handlebars'
import { chooseLanguage } from '../platform/i18n/choose-language.js'
import { DEFAULT_LANGUAGE, type Language, type Message } from '../platform/i18n/language.js'
import { rawQuery } from '../platform/request-parts.js'
import type { Branding } from './branding.js'
import { setSecurityHeaders, setStrictTransportSecurity } from './security-headers.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Language of the page that is sent. */
    language: Language
  }
  interface FastifyReply {
    locals?: { language: Language }
  }
  interface FastifyContextConfig {
    /** The route sends JSON and never a page, so it needs neither a language nor the headers of pages. */
    answersPrograms?: boolean
  }
}

export type PagesOptions = { issuer: string; languages: ReadonlyMap<string, Language>; branding: Branding }

const VIEWS = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../views')

/** The browser part of the WebAuthn library, as its package contains it. */
const WEBAUTHN_SCRIPT = path.resolve(
  path.dirname(createRequire(import.meta.url).resolve('@simplewebauthn/browser')),
  '../dist/bundle/index.umd.min.js'
)

const SCRIPT = 'text/javascript; charset=utf-8'

const PARTIALS = [
  'account-nav',
  'api',
  'login-form',
  'login-passkey',
  'login-ways',
  'new-password',
  'scope-words',
  'session',
  'tick'
]

/** Templates, language and security headers of all pages. */
export const pagesPlugin = fastifyPlugin<PagesOptions>(
  async (pages, { issuer, languages, branding }) => {
    await pages.register(view, {
      engine: { handlebars: withMessages(handlebars.create()) },
      root: VIEWS,
      layout: 'layout.hbs',
      options: {
        // A name that is missing in the data is an error and not an empty string.
        compileOptions: { strict: true, preventIndent: true },
        partials: Object.fromEntries(PARTIALS.map((name) => [name, `partials/${name}.hbs`]))
      },
      defaultContext: {
        product: branding.productName,
        assets: `${issuer}/assets`,
        stylesheet: `${issuer}/assets/style.css`,
        icon: `${issuer}/assets/icon.svg`,
        logo: branding.logo === undefined ? '' : `${issuer}/assets/logo`,
        // Names of assets. A page with scripts also calls `allowScripts`.
        scripts: []
      }
    })
    const tags = [DEFAULT_LANGUAGE, ...[...languages.keys()].filter((tag) => tag !== DEFAULT_LANGUAGE)]
    const fallback = languages.get(DEFAULT_LANGUAGE) as Language
    pages.decorateRequest('language', null as unknown as Language)
    const isHttps = issuer.startsWith('https:')
    // With a callback, and only HSTS for programs, because this runs for every request, POST /token included.
    pages.addHook('onRequest', (request, reply, done) => {
      if (isHttps) setStrictTransportSecurity(reply)
      if (request.routeOptions.config.answersPrograms === true) return done()
      const uiLocales = parseParameters(rawQuery(request)).get('ui_locales')
      const tag = chooseLanguage({ uiLocales, acceptLanguage: request.headers['accept-language'] }, tags)
      request.language = languages.get(tag ?? '') ?? fallback
      reply.locals = { language: request.language }
      setSecurityHeaders(reply)
      done()
    })
  },
  { name: 'valetkey-pages', fastify: '5.x' }
)

/** `GET /assets/…`: the stylesheet with the operator's accent colour, the icon, the scripts and the logo, read once at start. */
export const assetRoutes: FastifyPluginAsync<{ branding: Branding }> = async (site, { branding }) => {
  const stylesheet = await readFile(path.join(VIEWS, 'style.css'), 'utf8')
  const accent = branding.accentColor === undefined ? '' : await propertiesOf(branding.accentColor)
  const assets = [
    { name: 'style.css', type: 'text/css; charset=utf-8', content: Buffer.from(stylesheet + accent) },
    { name: 'icon.svg', type: 'image/svg+xml', content: await readFile(path.join(VIEWS, 'icon.svg')) },
    { name: 'webauthn.js', type: SCRIPT, content: await readFile(WEBAUTHN_SCRIPT) },
    { name: 'show-password.js', type: SCRIPT, content: await readFile(path.join(VIEWS, 'show-password.js')) },
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

/** Loads the colour library only if the operator has set a colour. */
async function propertiesOf(accentColor: string): Promise<string> {
  const { accentProperties } = await import('./accent-color.js')
  return accentProperties(accentColor)
}
