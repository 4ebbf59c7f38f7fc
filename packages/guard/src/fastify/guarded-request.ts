import type { FastifyReply } from 'fastify'
import type { Refused, Unavailable } from '../guard/outcome.js'
import type { AccessToken, ScopeRequirement } from '../guard/validate-token-and-scope.js'

/** The property in which an accepted request has its token, and what its route requires. */
export const TOKEN = Symbol('valetkey.accessToken')
export const REQUIREMENT = Symbol('valetkey.requirement')

declare module 'fastify' {
  interface FastifyRequest {
    [TOKEN]: AccessToken | null
    [REQUIREMENT]: ScopeRequirement | null
  }
}

export function sendOutcome(reply: FastifyReply, { status, headers, problem }: Refused | Unavailable): void {
  reply.code(status).headers(headers).send(JSON.stringify(problem))
}
