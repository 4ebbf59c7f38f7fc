import type { FastifyInstance } from 'fastify'

const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS']

/**
 * Does not run a request whose caller has reset the connection: the response would reach no caller. Node may read the request before
 * it notices the reset, so a request that changes something waits until it has.
 */
export function leaveGoneCallers(server: FastifyInstance): void {
  server.addHook('preHandler', (request, reply, done) => {
    const decide = () => {
      if (!request.raw.socket.destroyed) return done()
      request.log.info({ event: 'caller_gone' }, 'not run: the caller has closed the connection')
      reply.hijack()
    }
    if (SAFE_METHODS.includes(request.method)) decide()
    else setImmediate(decide)
  })
}
