import { type Client, OAuthError } from '@valetkey/oauth-protocol'
import {
  type CheckedProof,
  checkDpopProof,
  comparableTargetUri,
  type KnownKeys,
  type ProofNonces
} from '@valetkey/oauth-protocol/signed'
import type { FastifyReply, FastifyRequest } from 'fastify'

type ProofRefusal = Extract<CheckedProof, { kind: 'refused' }>['reason']

/** How long before and after the present time a proof may have been made, in seconds. Clocks of devices are often minutes off. */
const TOLERANCE_SECONDS = 300
/** FAPI 2.0 Security Profile §5.3.2.1: a time more than 60 seconds ahead is refused. */
const FAPI2_TOLERANCE_SECONDS = 60

export type ProofDeps = {
  issuer: string
  /** Whether every token request must have a proof. */
  isRequired: boolean
  keys: KnownKeys
  /** Undefined: proofs need no nonce, and `iat` counts. */
  nonces: ProofNonces | undefined
  now: () => Date
}

/** A request to an endpoint of this server. */
type EndpointRequest = {
  request: FastifyRequest
  reply: FastifyReply
  /** Of the endpoint, below the issuer. */
  path: string
  /** Undefined: the endpoint requires no proof. */
  client: Pick<Client, 'clientId' | 'dpopBound' | 'profile'> | undefined
}

/**
 * Verifies the DPoP proof of a request to an endpoint of this server (RFC 9449 §4.3, §5, §8, §10.1).
 * @returns the thumbprint of the key; undefined without a proof
 * @throws {OAuthError} `invalid_dpop_proof`, `use_dpop_nonce`; `invalid_request` if the client must send a proof and sent none
 */
export function verifyProof(given: EndpointRequest, deps: ProofDeps): Promise<string> | undefined {
  const { request, client } = given
  // An empty header is a bad proof, not a missing one.
  if (request.headers.dpop !== undefined) return thumbprintOf(given, deps)
  if (client === undefined || (!deps.isRequired && client.dpopBound !== true)) return undefined
  throw new OAuthError('invalid_request', 'The request must have a DPoP proof (RFC 9449).', {
    clientId: client.clientId
  })
}

async function thumbprintOf(
  { request, reply, path, client }: EndpointRequest,
  { issuer, keys, nonces, now }: ProofDeps
): Promise<string> {
  const toleranceSeconds = client?.profile === 'fapi2' ? FAPI2_TOLERANCE_SECONDS : TOLERANCE_SECONDS
  const expected = {
    method: request.method,
    targetUri: comparableTargetUri(`${issuer}${path}`) ?? '',
    now: now(),
    toleranceSeconds,
    nonces
  }
  const checked = await checkDpopProof(proofsIn(request.raw.rawHeaders), expected, keys)
  if (checked.kind !== 'refused' && checked.nextNonce !== undefined) reply.header('dpop-nonce', checked.nextNonce)
  if (checked.kind === 'valid') return checked.thumbprint
  request.log.info({ event: 'dpop_proof_refused', reason: checked.reason }, 'DPoP proof refused')
  if (checked.kind === 'nonce_required')
    throw new OAuthError('use_dpop_nonce', 'The DPoP proof needs the nonce of this response.')
  const fault = FAULTS[checked.reason](issuer + path, toleranceSeconds)
  throw new OAuthError('invalid_dpop_proof', `The DPoP proof is not valid: ${fault}.`)
}

/** Node joins the values of repeated headers, so these are read as they came. */
function proofsIn(rawHeaders: readonly string[]): readonly string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'dpop')
}

/** The end of the sentence that tells the developer of a client what to change. It reveals nothing: the proof is the client's own. */
const FAULTS: Readonly<Record<ProofRefusal, (uri: string, toleranceSeconds: number) => string>> = {
  not_one_proof: () => 'send one header',
  not_a_jws: () => 'it must be a signed JWT of at most 4,096 characters',
  typ: () => 'typ must be dpop+jwt',
  alg: () => 'its alg is not supported',
  crit: () => 'it must have no crit',
  jwk: () => 'jwk must be a public key for the alg: EC P-256, Ed25519, or RSA of 2,048 to 4,096 bits',
  jti: () => 'jti must have 1 to 256 characters',
  htm: () => 'htm must be the method of the request',
  htu: (uri) => `htu must be ${uri}`,
  iat: (_uri, toleranceSeconds) => `iat must be within ${toleranceSeconds} seconds of the present time`,
  ath: () => 'ath is not the hash of the access token',
  other_key: () => 'the token is bound to another key',
  nonce: () => 'nonce must be a text',
  signature: () => 'its signature is wrong'
}
