import { hash as digestOf, timingSafeEqual } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'

const ALPHABET = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** The rounds of SHA-crypt: without `rounds=`, the fewest of the specification, and about two seconds of a processor. */
const ROUNDS = { default: 5_000, least: 1_000, most: 700_000 }
/** Binary logarithm of the rounds. */
const PHPASS_LOG = { least: 7, most: 20 }
/** After so many rounds, other work has its turn: some milliseconds. */
const ROUNDS_IN_A_ROW = 1_000

const SHA_CRYPT = /^\$([56])\$(?:rounds=([1-9]\d{0,8})\$)?([^$:\s]{0,16})\$([./A-Za-z0-9]+)$/
const SHA_CRYPT_CHARACTERS = { 5: 43, 6: 86 }
/** `$P$` and `$H$` of WordPress and phpBB have MD5, `$S$` of Drupal 7 has SHA-512, cut to 43 characters. */
const PHPASS = /^\$(?:([PH])\$(.)(.{8})([./A-Za-z0-9]{22})|S\$(.)(.{8})([./A-Za-z0-9]{43}))$/

type ShaCrypt = { kind: 'sha-crypt'; digest: 'sha256' | 'sha512'; rounds: number; salt: string; hash: string }
type Phpass = { kind: 'phpass'; digest: 'md5' | 'sha512'; rounds: number; salt: string; hash: string }

/** Reads a SHA-crypt (`$5$`, `$6$`) or phpass hash (`$P$`, `$H$`, `$S$`). @returns undefined for other texts */
export function readCryptHash(text: string): ShaCrypt | Phpass | undefined {
  return readShaCrypt(text) ?? readPhpass(text)
}

export function problemOfCryptHash({ kind, rounds }: ShaCrypt | Phpass): string | undefined {
  const { least, most } = kind === 'phpass' ? { least: 2 ** PHPASS_LOG.least, most: 2 ** PHPASS_LOG.most } : ROUNDS
  if (rounds >= least && rounds <= most) return undefined
  return `the rounds must be from ${least} to ${most}: a sign-in would fail, or take too much time`
}

export async function verifyCryptHash(read: ShaCrypt | Phpass, password: string): Promise<boolean> {
  const bytes = Buffer.from(password)
  const computed = await (read.kind === 'phpass' ? computePhpass(read, bytes) : computeShaCrypt(read, bytes))
  return timingSafeEqual(Buffer.from(computed.slice(0, read.hash.length)), Buffer.from(read.hash))
}

function readShaCrypt(text: string): ShaCrypt | undefined {
  const [, id, rounds = String(ROUNDS.default), salt = '', hash = ''] = SHA_CRYPT.exec(text) ?? []
  if (id !== '5' && id !== '6') return undefined
  if (hash.length !== SHA_CRYPT_CHARACTERS[id]) return undefined
  return { kind: 'sha-crypt', digest: id === '5' ? 'sha256' : 'sha512', rounds: Number(rounds), salt, hash }
}

function readPhpass(text: string): Phpass | undefined {
  const found = PHPASS.exec(text)
  if (found === null) return undefined
  const [, isMd5, ...parts] = found
  const [log = '', salt = '', hash = ''] = isMd5 === undefined ? parts.slice(3) : parts
  const digest = isMd5 === undefined ? 'sha512' : 'md5'
  return { kind: 'phpass', digest, rounds: 2 ** ALPHABET.indexOf(log), salt, hash }
}

async function computePhpass({ digest, rounds, salt }: Phpass, password: Buffer): Promise<string> {
  let value = digestOf(digest, Buffer.concat([Buffer.from(salt), password]), 'buffer')
  const input = Buffer.concat([value, password])
  for (let round = 0; round < rounds; round += 1) {
    value.copy(input)
    value = digestOf(digest, input, 'buffer')
    if (round % ROUNDS_IN_A_ROW === 0) await setImmediate()
  }
  return encode(value)
}

/** https://www.akkadia.org/drepper/SHA-crypt.txt; the names are those of its steps. */
async function computeShaCrypt({ digest, rounds, salt }: ShaCrypt, password: Buffer): Promise<string> {
  const sum = (...parts: readonly Buffer[]) => digestOf(digest, Buffer.concat(parts), 'buffer')
  const saltBytes = Buffer.from(salt)
  const b = sum(password, saltBytes, password)
  let a = sum(
    password,
    saltBytes,
    repeated(b, password.length),
    ...bitsOf(password.length).map((bit) => (bit ? b : password))
  )
  const p = repeated(sum(Buffer.alloc(password.length ** 2, password)), password.length)
  const s = repeated(sum(...Array.from({ length: 16 + (a[0] ?? 0) }, () => saltBytes)), saltBytes.length)
  const inputs = roundInputs(p, s, a.length)
  for (let round = 0; round < rounds; round += 1) {
    const { input, at } = inputs(round)
    a.copy(input, at)
    a = digestOf(digest, input, 'buffer')
    if (round % ROUNDS_IN_A_ROW === 0) await setImmediate()
  }
  return encode(inOrderOfShaCrypt(a))
}

/** The inputs of rounds differ only in these three facts, so there are eight; each has a place for the last sum. */
function roundInputs(p: Buffer, s: Buffer, sumBytes: number) {
  const sum = Buffer.alloc(sumBytes)
  const inputs = Array.from({ length: 8 }, (_, index) => {
    const [isOdd, hasSalt, hasPassword] = [index & 1, index & 2, index & 4]
    const middle = [...(hasSalt ? [s] : []), ...(hasPassword ? [p] : [])]
    const input = Buffer.concat(isOdd ? [p, ...middle, sum] : [sum, ...middle, p])
    return { input, at: isOdd ? input.length - sumBytes : 0 }
  })
  return (round: number) => {
    const index = (round & 1) | (round % 3 === 0 ? 0 : 2) | (round % 7 === 0 ? 0 : 4)
    return inputs[index] as { input: Buffer; at: number }
  }
}

/** The bits from the lowest to the highest that is set. */
const bitsOf = (value: number): readonly boolean[] => [...value.toString(2)].reverse().map((bit) => bit === '1')

const repeated = (bytes: Buffer, length: number): Buffer => Buffer.alloc(length, length === 0 ? undefined : bytes)

function inOrderOfShaCrypt(sum: Buffer): Buffer {
  const third = Math.floor(sum.length / 3)
  const isLong = sum.length === 64
  let triple = [0, third, 2 * third] as [number, number, number]
  const order: number[] = []
  for (let index = 0; index < third; index += 1) {
    order.push(...triple.toReversed())
    const [x, y, z] = triple
    triple = isLong ? [y + 1, z + 1, x + 1] : [z + 1, x + 1, y + 1]
  }
  return Buffer.from([...order, ...(isLong ? [63] : [30, 31])].map((index) => sum[index] ?? 0))
}

/** Base64 of crypt(3): the lowest bits come first. */
function encode(bytes: Buffer): string {
  let text = ''
  for (let start = 0; start < bytes.length; start += 3) {
    const part = bytes.subarray(start, start + 3)
    let value = part.readUIntLE(0, part.length)
    for (let index = 0; index <= part.length; index += 1) {
      text += ALPHABET[value & 63]
      value >>= 6
    }
  }
  return text
}
