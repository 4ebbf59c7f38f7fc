import type { FastifyRequest } from 'fastify'
import type { NewClient } from '../../storage/postgres/clients.js'

/** The access that a user allows. */
type AllowedAccess = {
  userId: string
  client: NewClient
  /** The API. */
  audience: string
  /** What the user has allowed of the request. */
  scope: readonly string[]
  /** Of the user's authorization of the client, at Allow (ADR 0005). */
  authorizationGeneration: number
}

/** Stores what must exist before an Allow takes effect. If it fails, the Allow fails, and the user can send the form again. */
export type BeforeAllow = (request: FastifyRequest, access: AllowedAccess) => Promise<void>
