import { createHash } from 'node:crypto'
import { decodeCanonical, type JsonMembers } from './compact-jws.js'

/** Algorithms whose signatures are verified (RFC 7518 §3.1, RFC 8037, RFC 9864). */
export const SIGNATURE_ALGORITHMS = ['ES256', 'PS256', 'RS256', 'EdDSA', 'Ed25519'] as const

export type SignatureAlgorithm = (typeof SIGNATURE_ALGORITHMS)[number]

/** A public key (RFC 7517) that this server uses. */
export type PublicKey = {
  /** Only the members that define the key; frozen, because jose keeps the imported key of a frozen object. */
  jwk: Readonly<Record<string, string>>
  /** Of the JWK as it was sent; not of the key. */
  kid: string | undefined
  /** RFC 7638, SHA-256, base64url. */
  thumbprint: string
  /** The algorithms that the key verifies. */
  algorithms: readonly SignatureAlgorithm[]
}

/** @property objection why the key is not used; the end of a sentence that begins with the name of the key */
export type ReadKey = { kind: 'key'; key: PublicKey } | { kind: 'refused'; objection: string }

/** Members that only a private or symmetric key has (RFC 7518 §6). */
export const PRIVATE_KEY_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'] as const

const MAX_KID_LENGTH = 256
/** Bits of an RSA modulus. */
const RSA_BITS = { least: 2_048, most: 4_096 }
/** 65537, the usual public exponent. A large one makes each verification slow. */
const RSA_EXPONENT = 'AQAB'

type KeyType = {
  /** In the order of the thumbprint (RFC 7638 §3.2): sorted by name. */
  members: readonly string[]
  algorithms: readonly SignatureAlgorithm[]
  objection: (jwk: JsonMembers) => string | undefined
}

const KEY_TYPES: Readonly<Record<string, KeyType>> = {
  EC: {
    members: ['crv', 'kty', 'x', 'y'],
    algorithms: ['ES256'],
    objection: ({ crv, x, y }) => {
      if (crv !== 'P-256') return 'must have the curve P-256'
      return hasBytes(x, 32) && hasBytes(y, 32) ? undefined : 'must have x and y of 32 bytes, in base64url'
    }
  },
  OKP: {
    members: ['crv', 'kty', 'x'],
    algorithms: ['EdDSA', 'Ed25519'],
    objection: ({ crv, x }) => {
      if (crv !== 'Ed25519') return 'must have the curve Ed25519'
      return hasBytes(x, 32) ? undefined : 'must have x of 32 bytes, in base64url'
    }
  },
  RSA: {
    members: ['e', 'kty', 'n'],
    algorithms: ['PS256', 'RS256'],
    objection: ({ e, n }) => {
      if (e !== RSA_EXPONENT) return 'must have the exponent 65537'
      const bits = bitsOf(n)
      const isUsual = bits >= RSA_BITS.least && bits <= RSA_BITS.most
      return isUsual ? undefined : `must have a modulus of ${RSA_BITS.least} to ${RSA_BITS.most} bits, in base64url`
    }
  }
}

/** Reads a JWK with a public key for signatures. It does not find out whether an EC point is on its curve: the import does. */
export function readPublicKey(value: unknown): ReadKey {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refused('must be a JSON object')
  const jwk = value as JsonMembers
  const type = typeof jwk.kty === 'string' && Object.hasOwn(KEY_TYPES, jwk.kty) ? KEY_TYPES[jwk.kty] : undefined
  if (PRIVATE_KEY_MEMBERS.some((name) => Object.hasOwn(jwk, name)))
    return refused('must not have the members of a private or symmetric key')
  if (type === undefined) return refused('must have the kty EC, OKP or RSA')
  const objection = objectionToPurpose(jwk, type) ?? type.objection(jwk)
  if (objection !== undefined) return refused(objection)
  const members = Object.freeze(Object.fromEntries(type.members.map((name) => [name, jwk[name] as string])))
  return {
    kind: 'key',
    key: {
      jwk: members,
      kid: jwk.kid as string | undefined,
      thumbprint: createHash('sha256').update(JSON.stringify(members)).digest('base64url'),
      algorithms: algorithmsOf(jwk, type)
    }
  }
}

/** What the key is for, as its optional members say (RFC 7517 §4.2 to §4.5). */
function objectionToPurpose(jwk: JsonMembers, type: KeyType): string | undefined {
  const { use, key_ops: operations, alg, kid } = jwk
  if (use !== undefined && use !== 'sig') return 'must have the use sig, or none'
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify')))
    return 'must have verify in key_ops, or no key_ops'
  if (alg !== undefined && !type.algorithms.some((algorithm) => algorithm === alg))
    return `must have the alg ${type.algorithms.join(' or ')}, or none`
  const isKid = kid === undefined || (typeof kid === 'string' && isKeyId(kid))
  return isKid ? undefined : `must have a kid of 1 to ${MAX_KID_LENGTH} characters without control characters, or none`
}

/** Postgres stores neither NUL nor unpaired surrogates, and forms change line breaks. */
function isKeyId(kid: string): boolean {
  return kid !== '' && kid.length <= MAX_KID_LENGTH && !/[\p{Cc}\p{Cs}]/u.test(kid)
}

/** An RSA key without `alg` verifies both algorithms. EdDSA and Ed25519 are two names of one algorithm (RFC 9864 §2.2). */
function algorithmsOf({ kty, alg }: JsonMembers, { algorithms }: KeyType): readonly SignatureAlgorithm[] {
  return kty === 'RSA' && alg !== undefined ? [alg as SignatureAlgorithm] : algorithms
}

function hasBytes(value: unknown, length: number): boolean {
  return typeof value === 'string' && decodeCanonical(value)?.length === length
}

/** @returns 0 unless it is an unsigned number in its shortest form (RFC 7518 §6.3.1.1) */
function bitsOf(modulus: unknown): number {
  const bytes = typeof modulus === 'string' ? decodeCanonical(modulus) : undefined
  const first = bytes?.[0] ?? 0
  return bytes === undefined || first === 0 ? 0 : bytes.length * 8 - (Math.clz32(first) - 24)
}

function refused(objection: string): ReadKey {
  return { kind: 'refused', objection }
}
