import type { Client, TokenKeys } from '@valetkey/oauth-protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Binds codes and tokens to a key of the client (RFC 9449). Without it, every token is a bearer token, and no proof is read. */
export type SenderConstraint = {
  /**
   * Verifies the proof of a request of an authenticated client.
   * @param reply gets the header `DPoP-Nonce`, if the client needs one
   * @param path of the endpoint, below the issuer
   * @param client whose tokens may have to be bound; undefined at an endpoint that requires no proof of any client
   * @returns the thumbprint of the key (`jkt`); undefined without a proof
   * @throws {OAuthError} `invalid_dpop_proof`, `use_dpop_nonce`; `invalid_request` if the client must send a proof and sent none
   */
  verify: (
    request: FastifyRequest,
    reply: FastifyReply,
    path: string,
    client: Client | undefined
  ) => Promise<string> | undefined
  /**
   * Decides which of the new tokens are bound.
   * @param issue.dpopJkt what `verify` returned
   * @param issue.wasBound whether the grant has given a bound access token before
   * @throws {OAuthError} if the access token must be bound and there is no proof
   */
  keysFor: (issue: {
    client: Client
    audience: string
    dpopJkt: string | undefined
    wasBound: boolean
  }) => Promise<TokenKeys | undefined>
}
