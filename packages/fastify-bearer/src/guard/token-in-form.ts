import type { IncomingMessage } from 'node:http'
import { finished } from 'node:stream'
import { carriesAccessToken } from '@valetkey/oauth-protocol'
import type { FastifyRequest, preHandlerHookHandler } from 'fastify'
import { refuse } from './refusals.js'
import { ADMITTED_BY, carriesAccessTokenMember } from './token-guard.js'

/**
 * A preHandler hook that refuses a request with a second token in its form (RFC 6750 §2.2, §3.1). It runs after the guard,
 * so a request that the guard refuses has no body read.
 */
export function refuseTokenInForm(onRefusal: ((reason: string) => void) | undefined): preHandlerHookHandler {
  return function evaluateForm(request, reply, done) {
    const context = request[ADMITTED_BY]
    if (context === null || !isForm(request)) return done()
    if (!UNPARSED_METHODS.has(request.method)) return settle(request.body)
    readForm(request.raw, request.routeOptions.bodyLimit).then(settle, (error: Error) => {
      // What follows of the body is not read.
      reply.header('connection', 'close')
      done(error)
    })

    function settle(form: unknown): void {
      if (context === null || !carriesToken(form)) {
        done()
        return
      }
      request.log.info({ event: 'access_token_refused', reason: 'token_in_body' }, 'access token refused')
      refuse(reply, context, 'invalid_request')
      onRefusal?.('token_in_body')
    }
  }
}

// Fastify gives the handlers of these methods no body, and leaves it unread on the connection.
const UNPARSED_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE'])

/** RFC 6750 §2.2: only a form can carry one; `access_token` in a JSON body is the API's own business. */
function isForm({ headers }: FastifyRequest): boolean {
  const mediaType = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  return mediaType === 'application/x-www-form-urlencoded'
}

function carriesToken(form: unknown): boolean {
  if (typeof form === 'string' || Buffer.isBuffer(form)) return carriesAccessToken(form.toString('latin1'))
  return carriesAccessTokenMember(form)
}

/**
 * Reads a body to its end. How long a sender may take is up to the server's `requestTimeout`, as for any body.
 * @param limit bytes
 * @throws an error with `statusCode` 413 beyond the limit, and 400 if the connection ends before the body
 */
function readForm(raw: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const tooLarge = () => reject(httpError(413, 'The form is too large.'))
    if (Number(raw.headers['content-length'] ?? 0) > limit) return tooLarge()
    const parts: Buffer[] = []
    let length = 0
    const stopWaiting = finished(raw, { writable: false }, (error) => {
      if (error) reject(httpError(400, 'The form ended before its announced end.'))
      else resolve(Buffer.concat(parts))
    })
    raw.on('data', function take(part: Buffer) {
      length += part.length
      if (length <= limit) {
        parts.push(part)
        return
      }
      stopWaiting()
      raw.off('data', take)
      tooLarge()
    })
  })
}

const httpError = (statusCode: number, message: string) => Object.assign(new Error(message), { statusCode })
