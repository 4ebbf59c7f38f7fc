import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import { sendErrorPage } from '../../http/send-error-page.js'
import type { ClientLogoStore } from '../../storage/postgres/client-logos.js'

type LogoRequest = { Params: { file: string } }

const FILE = /^([0-9a-f]{64})\.png$/

const hashIn = (file: string): string | undefined => FILE.exec(file)?.[1]

/**
 * `GET /logos/HASH.png`. The address names the content, so a response never becomes outdated. The logo of an app that is not
 * published is not public: it is at another address, which needs a session.
 */
export const logoRoutes: FastifyPluginAsync<{ issuer: string; clientLogos: Pick<ClientLogoStore, 'find'> }> = async (
  site,
  { issuer, clientLogos }
) => {
  site.get<LogoRequest>('/logos/:file', async (request, reply) => {
    const hash = hashIn(request.params.file)
    const found = hash === undefined ? undefined : await clientLogos.find(hash)
    if (hash === undefined || found === undefined) {
      return sendErrorPage(request, reply, { status: 404, reason: 'not_found' })
    }
    if (!found.isPublic) {
      return reply.header('cache-control', 'no-store').redirect(`${issuer}/account/logos/${hash}.png`, 303)
    }
    const etag = `"${hash}"`
    allowImage(reply).header('cache-control', 'public, max-age=31536000, immutable').header('etag', etag)
    if (isCurrent(request.headers['if-none-match'], etag)) return reply.code(304).send()
    return reply.type('image/png').send(found.image)
  })
}

/** `GET /account/logos/HASH.png`: for owners and test users of the app. Others get the same response as for an unknown logo. */
export const ownLogoRoutes: FastifyPluginAsync<{ clientLogos: Pick<ClientLogoStore, 'findOwn'> }> = async (
  pages,
  { clientLogos }
) => {
  pages.get<LogoRequest>('/account/logos/:file', async (request, reply) => {
    const [hash, user] = [hashIn(request.params.file), request.signedIn]
    const image = hash === undefined || user === undefined ? undefined : await clientLogos.findOwn(hash, user.userId)
    if (image === undefined) return sendErrorPage(request, reply, { status: 404, reason: 'not_found' })
    return allowImage(reply).header('cache-control', 'private, no-store').type('image/png').send(image)
  })
}

function allowImage(reply: FastifyReply): FastifyReply {
  return reply
    .header('content-security-policy', "default-src 'none'; sandbox")
    .header('cross-origin-resource-policy', 'same-origin')
}

/** RFC 9110 §13.1.2. The tag is so long that no other contains it. */
function isCurrent(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch === '*' || ifNoneMatch?.includes(etag) === true
}
