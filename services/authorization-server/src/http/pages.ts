import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import view from '@fastify/view'
import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import handlebars from 'handlebars'

const VIEWS = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../views')

/** Templates and security headers of everything that is shown to a person. */
export const pagesPlugin = fastifyPlugin<{ issuer: string }>(
  async (pages, { issuer }) => {
    await pages.register(view, {
      engine: { handlebars },
      root: VIEWS,
      layout: 'layout.hbs',
      // A name that is missing from the data is an error and not an empty string.
      options: { compileOptions: { strict: true, preventIndent: true } },
      defaultContext: { stylesheet: `${issuer}/assets/style.css`, icon: `${issuer}/assets/icon.svg` }
    })
    pages.addHook('onRequest', async (_request, reply) => {
      reply
        .header('cache-control', 'no-store')
        .header('referrer-policy', 'same-origin')
        .header('x-frame-options', 'DENY')
        .header('cross-origin-opener-policy', 'same-origin')
      allowForms(reply, [])
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

/** `GET /assets/…`: the one stylesheet and the icon, read once. */
export const assetRoutes: FastifyPluginAsync = async (site) => {
  for (const [name, type] of [
    ['style.css', 'text/css; charset=utf-8'],
    ['icon.svg', 'image/svg+xml']
  ] as const) {
    const content = await readFile(path.join(VIEWS, name))
    site.get(`/assets/${name}`, async (_request, reply) => {
      reply.header('cache-control', 'public, max-age=300').type(type)
      return content
    })
  }
}
