import type { IncomingMessage } from 'node:http'
import { finished } from 'node:stream'
import type { preHandlerHookHandler } from 'fastify'
import type { Guard } from '../guard/guard.js'
import { isForm } from '../guard/token-in-parameters.js'
import { REQUIREMENT, sendOutcome } from './guarded-request.js'

/**
 * A preHandler hook that refuses a request with a second token in its form (RFC 6750 §2.2, §3.1). It runs after the
 * guard, so the body of a refused request is not read.
 */
export function refuseTokenInForm(guard: Guard): preHandlerHookHandler {
  return function evaluateForm(request, reply, done) {
    const requirement = request[REQUIREMENT]
    if (requirement === null || !isForm(request.headers['content-type'])) return done()
    if (!UNPARSED_METHODS.has(request.method)) return decide(request.body)
    readForm(request.raw, request.routeOptions.bodyLimit).then(decide, (error: Error) => {
      // The rest of the body stays unread on the connection.
      reply.header('connection', 'close')
      done(error)
    })

    function decide(form: unknown): void {
      const refused = guard.checkForm(form, requirement ?? undefined, request)
      if (refused === undefined) done()
      else sendOutcome(reply, refused)
    }
  }
}

// Fastify does not parse the body of these methods, and leaves it unread on the connection.
const UNPARSED_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE'])

/**
 * Reads a body to its end. The server's `requestTimeout` limits the time, as for any body.
 * @param limit bytes
 * @throws an error with `statusCode` 413 beyond the limit, and 400 if the connection ends before the body
 */
function readForm(raw: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const tooLarge = () => reject(httpError(413, 'The form is too large.'))
    if (Number(raw.headers['content-length'] ?? 0) > limit) return tooLarge()
    const parts: Buffer[] = []
    let length = 0
    const stopListening = finished(raw, { writable: false }, (error) => {
      if (error) reject(httpError(400, 'The form ended before its announced end.'))
      else resolve(Buffer.concat(parts))
    })
    raw.on('data', function collect(part: Buffer) {
      length += part.length
      if (length <= limit) {
        parts.push(part)
        return
      }
      stopListening()
      raw.off('data', collect)
      tooLarge()
    })
  })
}

const httpError = (statusCode: number, message: string) => Object.assign(new Error(message), { statusCode })
