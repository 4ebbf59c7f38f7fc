import type { FastifyPluginAsync } from 'fastify'
import { sendErrorPage } from '../http/send-error-page.js'
import { ERROR_CATALOGUE } from './error-catalogue.js'

/** `GET /errors/{code}`: where every `error_uri` points. */
export const errorRoutes: FastifyPluginAsync = async (pages) => {
  pages.get<{ Params: { code: string } }>('/errors/:code', async (request, reply) => {
    const entry = ERROR_CATALOGUE.find(({ code }) => code === request.params.code)
    if (entry !== undefined) return reply.view('error-code.hbs', { title: entry.code, ...entry })
    return sendErrorPage(request, reply, {
      status: 404,
      title: 'There is no such error code',
      message: 'The codes of this service are those of OAuth 2.0.',
      advice: `Known codes: ${ERROR_CATALOGUE.map(({ code }) => code).join(', ')}.`
    })
  })
}
