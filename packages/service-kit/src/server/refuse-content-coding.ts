import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction, RequestPayload } from 'fastify'
import { Problem } from './problem.js'

/** A compressed body, which no endpoint reads: as it is, it would be a form without the parameters. */
class ContentCodingError extends Problem {
  readonly statusCode = 415
  readonly code = 'CONTENT_CODING'
  constructor() {
    super(415, 'The body must not be compressed: send it without Content-Encoding.')
    this.name = 'ContentCodingError'
  }
}

/** `identity` means none (RFC 9110 §12.5.3); a list may have empty members (§5.6.1). */
const NO_CODING = /^[ \t,]*(?:identity[ \t,]*)*$/i

/** A hook: refuses a body with a content coding, after authentication and before the body is read (RFC 9110 §15.5.16). */
export function refuseContentCoding(
  request: FastifyRequest,
  reply: FastifyReply,
  _payload: RequestPayload,
  done: HookHandlerDoneFunction
): void {
  const { 'content-encoding': coding, 'content-length': length, 'transfer-encoding': transfer } = request.headers
  const hasBody = transfer !== undefined || (length !== undefined && length !== '0')
  // Neither 404, 405 nor GET reads a body.
  if (coding === undefined || NO_CODING.test(coding) || !hasBody || request.is404 || !readsBody(request)) {
    done()
  } else {
    reply.header('accept-encoding', 'identity')
    done(new ContentCodingError())
  }
}

const readsBody = ({ method }: FastifyRequest) => method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS'
