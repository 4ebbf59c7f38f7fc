import type { IncomingMessage } from 'node:http'
import { finished } from 'node:stream'
import { carriesAccessToken } from '@valetkey/oauth-protocol'
import type { FastifyRequest, preHandlerHookHandler } from 'fastify'
import { refuse } from './refusals.js'
import { GUARD_CHALLENGE, hasTokenMember } from './token-guard.js'

/**
 * A preHandler hook that refuses a request with a second token in its form (RFC 6750 §2.2, §3.1). It runs after the
 * guard, so the body of a refused request is not read.
 */
export function refuseTokenInForm(onRefusal: ((reason: string) => void) | undefined): preHandlerHookHandler {
  return function evaluateForm(request, reply, done) {
    const challenge = request[GUARD_CHALLENGE]
    if (challenge === null || !isForm(request)) return done()
    if (!UNPARSED_METHODS.has(request.method)) return decide(request.body)
    readForm(request.raw, request.routeOptions.bodyLimit).then(decide, (error: Error) => {
      // The rest of the body stays unread on the connection.
      reply.header('connection', 'close')
      done(error)
    })

    function decide(form: unknown): void {
      if (challenge === null || !hasToken(form)) {
        done()
        return
      }
      request.log.info({ event: 'access_token_refused', reason: 'token_in_body' }, 'access token refused')
      refuse(reply, challenge, 'invalid_request')
      onRefusal?.('token_in_body')
    }
  }
}

// Fastify does not parse the body of these methods, and leaves it unread on the connection.
const UNPARSED_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE'])

/** Only a form can carry a token (RFC 6750 §2.2); `access_token` in a JSON body belongs to the API. */
function isForm({ headers }: FastifyRequest): boolean {
  const mediaType = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  return mediaType === 'application/x-www-form-urlencoded'
}

function hasToken(form: unknown): boolean {
  if (typeof form === 'string' || Buffer.isBuffer(form)) return carriesAccessToken(form.toString('latin1'))
  return hasTokenMember(form)
}

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
