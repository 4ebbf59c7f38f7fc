import { readFile } from 'node:fs/promises'
import type { Readiness } from '@valetkey/service-kit'
import type { FastifyPluginAsync } from 'fastify'
import handlebars from 'handlebars'
import type { Branding } from '../../http/branding.js'
import { readIcon, readStylesheet } from '../../http/pages.js'
import { setSecurityHeaders } from '../../http/security-headers.js'
import { describeOverview, describeUptime, type Examination } from './describe-overview.js'
import { latestOf } from './latest.js'

const TEMPLATE = new URL('../../../views/operator/start-page.hbs', import.meta.url)

// A check of readiness takes at most 2 seconds; an examination opens connections and calls sign-in providers.
const READINESS = { freshForMs: 1_000, waitAtMostMs: 3_000 }
const EXAMINATION = { freshForMs: 15_000, waitAtMostMs: 6_000 }

/**
 * `GET /`: a read-only overview for operators. In English only, as the commands and the documentation. It has its own
 * template and stylesheet, so a page of the operator's own cannot break it.
 */
export const startPageRoutes: FastifyPluginAsync<{
  branding: Pick<Branding, 'productName' | 'accentColor'>
  /** Checks of `doctor` and versions. */
  examine: () => Promise<Examination>
  readiness: () => Promise<Readiness>
  issuer: string
  /** Seconds since the start of this process. */
  uptime: () => number
  now: () => Date
}> = async (server, { branding, examine, readiness, issuer, uptime, now }) => {
  const page = handlebars.compile(await readFile(TEMPLATE, 'utf8'), { strict: true, preventIndent: true })
  const assets = [
    { name: 'style.css', type: 'text/css; charset=utf-8', content: await readStylesheet(branding.accentColor) },
    { name: 'icon.svg', type: 'image/svg+xml', content: await readIcon() }
  ]
  const latestReadiness = latestOf(readiness, { ...READINESS, now })
  const latestExamination = latestOf(examine, { ...EXAMINATION, now })

  server.get('/', async (request, reply) => {
    const [ready, examined] = await Promise.all([
      latestReadiness(),
      latestExamination().catch((error: unknown) => {
        request.log.error({ event: 'examination_failed', err: error }, 'examination failed')
        return undefined
      })
    ])
    setSecurityHeaders(reply)
    return reply
      .header('cross-origin-resource-policy', 'same-origin')
      .type('text/html; charset=utf-8')
      .send(
        page({
          product: branding.productName,
          issuer,
          uptime: describeUptime(uptime()),
          ...describeOverview(ready?.value, examined)
        })
      )
  })

  for (const { name, type, content } of assets) {
    server.get(`/assets/${name}`, async (_request, reply) => {
      return reply.header('cache-control', 'public, max-age=300').type(type).send(content)
    })
  }
}
