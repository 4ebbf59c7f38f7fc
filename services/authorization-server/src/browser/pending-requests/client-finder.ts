import type { FastifyRequest } from 'fastify'
import type { AuditedRequest } from '../../platform/audit/audit-trail.js'
import type { ClientRefusal } from '../../platform/clients/document-refusal.js'
import type { NewClient } from '../../storage/postgres/clients.js'

/** The browser that sends the request. A client finder may do work for signed-in users only. */
export type Visitor = Pick<FastifyRequest, 'signedIn' | 'verifySession' | 'browserId' | 'uiLocales'>

export type RefusedClient = { kind: 'client_refused'; refusal: ClientRefusal }

export type FinderOutcome =
  | { kind: 'client'; client: NewClient }
  | RefusedClient
  | { kind: 'unread'; reason: 'unknown_client' }

/** Finds clients that no operator registered. Their ids are URLs. */
export type ClientFinder = {
  /** Whether users can create a client with this id by allowing it. */
  accepts: (clientId: string) => boolean
  /** Whether an operator named this id or its host. */
  isListed: (clientId: string) => boolean
  /** @returns undefined if the error page of an unknown client is enough for an id that is no client id */
  refuseMalformed: (clientId: string) => RefusedClient | undefined
  /** @param stored the client, if a user has allowed it before */
  find: (clientId: string, stored: NewClient | undefined, visitor: Visitor) => Promise<FinderOutcome>
  /**
   * Stores a client that the user allows.
   * @throws {TooManyAttempts} if the client is new, and the user has allowed too many new ones today
   */
  store: (client: NewClient, userId: string, audited: AuditedRequest) => Promise<void>
}
