import type { FastifyPluginAsync } from 'fastify'
import { sendErrorPage } from '../../http/send-error-page.js'
import { ERROR_CATALOGUE } from './error-catalogue.js'

/** `GET /errors/{code}`: the page that `error_uri` links to. */
export const errorRoutes: FastifyPluginAsync = async (pages) => {
  pages.get<{ Params: { code: string } }>('/errors/:code', async (request, reply) => {
    const entry = ERROR_CATALOGUE.find(({ code }) => code === request.params.code)
    if (entry !== undefined)
      return reply.view('error-code.hbs', { title: { key: 'errors.title', values: { code: entry.code } }, ...entry })
    const codes = ERROR_CATALOGUE.map(({ code }) => code).join(', ')
    return sendErrorPage(request, reply, { status: 404, reason: 'unknown_code', values: { codes } })
  })
}
