import { readCryptHash } from './crypt-hash.js'

/**
 * What it takes to compute a hash.
 * @property milliseconds on a processor of 2024; the queue compares it with what it measures
 * @property bytes of memory while it is computed
 */
export type HashCost = { milliseconds: number; bytes: number }

const MIB = 1024 * 1024

/** The most that an import accepts (foreign-hash.ts), for a format that is not listed here: a guess must not exceed the memory. */
const UNKNOWN: HashCost = { milliseconds: 2_000, bytes: 256 * MIB }

/** Milliseconds of one MiB and pass; of two rounds; of one MiB and `p`; of one iteration for one block of the hash; of one round. */
const MS = {
  argon2: 0.4,
  bcrypt: 0.045,
  scrypt: 2.5,
  crypt: 0.003,
  pbkdf2: { sha1: 0.000_3, sha256: 0.000_3, sha512: 0.000_6 }
}
const BLOCK_BYTES = { sha1: 20, sha256: 32, sha512: 64 }

/** Reads the cost from the parameters of a stored hash, also if it is part of a longer text. Pure. */
export function costOf(stored: string): HashCost {
  const number = (name: string) => Number(new RegExp(`[$,]${name}=(\\d+)`).exec(stored)?.[1] ?? Number.NaN)
  const costs = [
    argon2Cost(stored, number),
    bcryptCost(stored),
    scryptCost(stored, number),
    pbkdf2Cost(stored, number('i')),
    cryptCost(stored),
    /^(?:\{[a-z0-9-]+\})?\$(?:salt-before|salt-after|hmac)-/.test(stored) ? { milliseconds: 0.01, bytes: 0 } : undefined
  ]
  return costs.find((cost) => cost !== undefined && Number.isFinite(cost.milliseconds + cost.bytes)) ?? UNKNOWN
}

type ReadNumber = (name: string) => number

function argon2Cost(stored: string, number: ReadNumber): HashCost | undefined {
  if (!stored.includes('$argon2')) return undefined
  const kib = number('m')
  return { milliseconds: ((kib * number('t')) / 1024) * MS.argon2, bytes: kib * 1024 }
}

function bcryptCost(stored: string): HashCost | undefined {
  const [, rounds] = /\$2[abxy]?\$(\d\d)\$/.exec(stored) ?? []
  return rounds === undefined ? undefined : { milliseconds: 2 ** Number(rounds) * MS.bcrypt, bytes: 0 }
}

/** RFC 7914 §5 and §6: the block mix needs 128 * r * (N + p) bytes. */
function scryptCost(stored: string, number: ReadNumber): HashCost | undefined {
  if (!stored.includes('$scrypt$')) return undefined
  const [N, r, p] = [2 ** number('ln'), number('r'), number('p')]
  return { milliseconds: ((128 * r * N * p) / MIB) * MS.scrypt, bytes: 128 * r * (N + p) }
}

function pbkdf2Cost(stored: string, iterations: number): HashCost | undefined {
  const [, digest] = /\$pbkdf2-(sha1|sha256|sha512)\$/.exec(stored) ?? []
  if (digest === undefined) return undefined
  const name = digest as keyof typeof BLOCK_BYTES
  const hashBytes = Buffer.from(stored.slice(stored.lastIndexOf('$') + 1), 'base64').length
  return { milliseconds: iterations * Math.ceil(hashBytes / BLOCK_BYTES[name]) * MS.pbkdf2[name], bytes: 0 }
}

function cryptCost(stored: string): HashCost | undefined {
  const crypt = readCryptHash(stored.replace(/^\{[a-z0-9-]+\}/, ''))
  return crypt && { milliseconds: crypt.rounds * MS.crypt, bytes: 0 }
}
