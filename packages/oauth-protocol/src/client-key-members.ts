import type { JsonMembers } from './signed/compact-jws.js'
import { objectionToKeySetUrl, readKeySet, type SkippedKey } from './signed/key-set.js'
import { type PublicKey, SIGNATURE_ALGORITHMS, type SignatureAlgorithm } from './signed/public-key.js'

/** How a client authenticates with keys, as its document says. */
export type ClientKeys = {
  /** `required`: `private_key_jwt` is its only method; `allowed`: it may also authenticate as a public client. */
  privateKeyJwt: 'required' | 'allowed'
  /** The only algorithm of its assertions; undefined: any of its keys. */
  algorithm: SignatureAlgorithm | undefined
  /** Where its keys are; undefined: in the document. */
  jwksUri: string | undefined
  /** Of `jwks`; empty with `jwksUri`, until they are fetched. */
  keys: readonly PublicKey[]
}

/** Members that say how the client authenticates (RFC 7591 §2, OpenID Connect RP Metadata Choices 1.0). */
export const KEY_MEMBERS = [
  ...(['token_endpoint_auth_methods_supported', 'token_endpoint_auth_method'] as const),
  ...(['token_endpoint_auth_signing_alg', 'jwks_uri', 'jwks'] as const)
] as const

type KeyMember = (typeof KEY_MEMBERS)[number]

type Method = (typeof METHODS)[number]
export type ReadClientKeys =
  /** @property keys undefined if the client has none: it is a public client */
  | { kind: 'valid'; keys: ClientKeys | undefined; skipped: readonly SkippedKey[] }
  /** @property objection the end of a sentence that begins with the member */
  | { kind: 'invalid'; member: KeyMember; objection: string }

const METHODS = ['none', 'private_key_jwt'] as const

/**
 * Reads how the client of a document authenticates. A document is public, so it has no secret. Methods that are not supported are
 * ignored: the document is for many servers.
 */
export function readClientKeys(members: JsonMembers): ReadClientKeys {
  const { member, methods } = methodsOf(members)
  if (methods.length === 0) return invalid(member, `must have none or private_key_jwt`)
  if (!methods.includes('private_key_jwt')) return { kind: 'valid', keys: undefined, skipped: [] }
  const { token_endpoint_auth_signing_alg: alg, jwks_uri: jwksUri, jwks } = members
  const algorithm = SIGNATURE_ALGORITHMS.find((supported) => supported === alg)
  if (alg !== undefined && algorithm === undefined)
    return invalid('token_endpoint_auth_signing_alg', `must be one of ${SIGNATURE_ALGORITHMS.join(', ')}`)
  const described = { privateKeyJwt: methods.includes('none') ? 'allowed' : 'required', algorithm } as const
  if (jwks === undefined) {
    const objection = jwksUri === undefined ? 'or jwks is needed for private_key_jwt' : objectionToKeySetUrl(jwksUri)
    if (objection !== undefined) return invalid('jwks_uri', objection)
    return { kind: 'valid', keys: { ...described, jwksUri: jwksUri as string, keys: [] }, skipped: [] }
  }
  if (jwksUri !== undefined) return invalid('jwks_uri', 'must not be beside jwks')
  const read = readKeySet(jwks)
  if (read.kind === 'refused') return invalid('jwks', read.objection)
  const skipped = read.skipped.map(({ place, reason }) => ({ place: `jwks.${place}`, reason }))
  return { kind: 'valid', keys: { ...described, jwksUri: undefined, keys: read.keys }, skipped }
}

/** The list has priority over the single method, and `none` is the default of a document. */
function methodsOf({
  token_endpoint_auth_methods_supported: list,
  token_endpoint_auth_method: single = 'none'
}: JsonMembers): { member: KeyMember; methods: readonly Method[] } {
  const isList = Array.isArray(list)
  const named: readonly unknown[] = isList ? list : [single]
  return {
    member: isList ? 'token_endpoint_auth_methods_supported' : 'token_endpoint_auth_method',
    methods: METHODS.filter((method) => named.includes(method))
  }
}

function invalid(member: KeyMember, objection: string): ReadClientKeys {
  return { kind: 'invalid', member, objection }
}
