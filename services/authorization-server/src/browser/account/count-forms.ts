import type { FastifyInstance } from 'fastify'
import { sendErrorPage } from '../../http/send-error-page.js'
import { openMinuteLimits } from '../../platform/rate-limits/minute-limits.js'

/** Forms of one user that one process reads in a minute. More than a person sends, and less than the work of one second. */
const MOST_FORMS = 120
const MINUTE_MS = 60_000

/**
 * Counts every form of a signed-in user before its body is read: whatever a form costs, valid or not, its limit comes first. In
 * the memory of the process, because it protects the processor of the process.
 * @param options.limitsFactor multiplies the limit
 */
export function countForms(
  pages: FastifyInstance,
  { limitsFactor }: { limitsFactor: number },
  now = () => performance.now()
) {
  const most = Math.max(1, Math.floor(MOST_FORMS * limitsFactor))
  let [take, minute] = [openMinuteLimits(), Number.NaN]

  pages.addHook('onRequest', async (request, reply) => {
    const user = request.signedIn
    if (request.method !== 'POST' || user === undefined) return
    const present = Math.floor(now() / MINUTE_MS)
    if (present !== minute) [take, minute] = [openMinuteLimits(), present]
    if (take([user.userId, most])) return
    reply.header('retry-after', String(Math.ceil(((present + 1) * MINUTE_MS - now()) / 1_000)))
    return sendErrorPage(request, reply, { status: 429, reason: 'too_many_forms' })
  })
}
