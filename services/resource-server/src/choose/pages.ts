import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { FastifyReply } from 'fastify'
import handlebars, { type HelperOptions } from 'handlebars'
import type { Language } from './language.js'

const VIEWS = path.resolve(import.meta.dirname, '../../views')
const PARTIALS = path.join(VIEWS, 'partials')

/** The files that the pages load, by name. */
export const ASSETS = [
  { name: 'style.css', type: 'text/css; charset=utf-8' },
  { name: 'choose.js', type: 'text/javascript; charset=utf-8' },
  { name: 'icon.svg', type: 'image/svg+xml' }
].map((asset) => ({ ...asset, content: readFileSync(path.join(VIEWS, asset.name), 'utf8') }))

export type SendPage = (
  reply: FastifyReply,
  page: { view: 'choose' | 'problem'; status: number; language: Language; title: string; data: object }
) => FastifyReply

type Options = { issuer: string; resourceUrl: string }

/** Compiles the templates. Each page has the headers of the pages of the authorization server (contract §2). */
export function createPages({ issuer, resourceUrl }: Options): SendPage {
  const engine = withMessages(handlebars.create())
  // A name that is missing in the data is an error and not an empty string.
  const compile = (file: string) =>
    engine.compile(readFileSync(file, 'utf8'), { strict: true, preventIndent: true }) as (data: object) => string
  for (const name of readdirSync(PARTIALS)) {
    engine.registerPartial(path.basename(name, '.hbs'), readFileSync(path.join(PARTIALS, name), 'utf8').trim())
  }
  const [layout, choose, problem] = ['layout', 'choose', 'problem'].map((name) =>
    compile(path.join(VIEWS, `${name}.hbs`))
  )
  const views = { choose, problem }
  const headers = securityHeaders(issuer, resourceUrl)
  const assets = `${resourceUrl}/choose/assets`

  return (reply, { view, status, language, title, data }) => {
    const common = { language, title, assets }
    const body = views[view]?.({ ...common, ...data }) ?? ''
    const html = layout?.({ ...common, body }) ?? ''
    return reply.code(status).headers(headers).type('text/html; charset=utf-8').send(html)
  }
}

/**
 * Browsers apply `form-action` also to redirects after a form, which lead back to the authorization server. `Referrer-Policy` is
 * not `no-referrer`, because browsers would then send `Origin: null` with our own form.
 */
function securityHeaders(issuer: string, resourceUrl: string): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `form-action 'self' ${new URL(issuer).origin}`,
    "base-uri 'none'",
    "frame-ancestors 'none'"
  ]
  return {
    'cache-control': 'no-store',
    'content-security-policy': policy.join('; '),
    'referrer-policy': 'same-origin',
    'x-frame-options': 'DENY',
    ...(resourceUrl.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' })
  }
}

/** `{{t "key" name=value}}` inserts a text as markup, `{{text …}}` as plain text. */
function withMessages(engine: typeof handlebars): typeof handlebars {
  const languageOf = ({ data }: HelperOptions) => (data.root as { language: Language }).language
  engine.registerHelper('t', (key: string, options: HelperOptions) => {
    return new engine.SafeString(languageOf(options).toHtml(key, options.hash))
  })
  engine.registerHelper('text', (key: string, options: HelperOptions) => languageOf(options).toText(key, options.hash))
  return engine
}
