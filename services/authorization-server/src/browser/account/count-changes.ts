import type { FastifyInstance } from 'fastify'
import { sendErrorPage } from '../../http/send-error-page.js'
import { type Limiter, TooManyAttempts } from '../../platform/rate-limits/limiter.js'
import { accountChangeLimit } from '../../platform/rate-limits/rules.js'
import { checkForm, type FormPage } from '../csrf/check-form.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The form only takes something away. It is never refused because there were too many. */
    isEnding?: boolean
  }
}

/**
 * Counts the forms of a signed-in user in this scope, before their work: each success has an audit entry, and most have a row. Forms
 * of other sites are not counted. A form with a file is read by its route, which counts it.
 */
export function countChanges(pages: FastifyInstance, options: FormPage & { limiter: Pick<Limiter, 'count'> }): void {
  pages.addHook('preHandler', async (request, reply) => {
    const user = request.signedIn
    if (request.method !== 'POST' || request.routeOptions.config.isEnding === true || user === undefined) return
    if (checkForm(request, options) !== 'own') return
    try {
      await options.limiter.count(accountChangeLimit(user.userId))
    } catch (error) {
      if (!(error instanceof TooManyAttempts)) throw error
      options.audit.record(request, { event: 'form_refused', userId: user.userId, reason: 'too_many_changes' })
      reply.header('retry-after', String(error.retryAfterSeconds))
      return sendErrorPage(request, reply, { status: 429, reason: 'too_many_changes' })
    }
  })
}
