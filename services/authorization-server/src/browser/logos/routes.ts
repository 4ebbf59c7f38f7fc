import type { FastifyPluginAsync } from 'fastify'
import { sendErrorPage } from '../../http/send-error-page.js'
import type { ClientLogoStore } from '../../storage/postgres/client-logos.js'

export type LogoRouteOptions = { logos: Pick<ClientLogoStore, 'find'> }

const FILE = /^([0-9a-f]{64})\.png$/

/** `GET /logos/HASH.png`. The address names the content, so a response never becomes outdated. */
export const logoRoutes: FastifyPluginAsync<LogoRouteOptions> = async (site, { logos }) => {
  site.get<{ Params: { file: string } }>('/logos/:file', async (request, reply) => {
    const [, hash] = FILE.exec(request.params.file) ?? []
    const image = hash === undefined ? undefined : await logos.find(hash)
    if (hash === undefined || image === undefined) {
      return sendErrorPage(request, reply, { status: 404, reason: 'not_found' })
    }
    const etag = `"${hash}"`
    reply
      .header('cache-control', 'public, max-age=31536000, immutable')
      .header('content-security-policy', "default-src 'none'; sandbox")
      .header('cross-origin-resource-policy', 'same-origin')
      .header('etag', etag)
    if (isCurrent(request.headers['if-none-match'], etag)) return reply.code(304).send()
    return reply.type('image/png').send(image)
  })
}

/** RFC 9110 §13.1.2. The tag is so long that no other contains it. */
function isCurrent(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch === '*' || ifNoneMatch?.includes(etag) === true
}
