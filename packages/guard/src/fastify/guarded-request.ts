import type { FastifyReply } from 'fastify'
import { fieldsOf, type Refused, type Unavailable } from '../guard/outcome.js'
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

export function sendOutcome(reply: FastifyReply, outcome: Refused | Unavailable): void {
  reply.code(outcome.status).headers(fieldsOf(outcome)).send(JSON.stringify(outcome.problem))
}
