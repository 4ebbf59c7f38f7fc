import { convertKeycloak } from './convert-keycloak.js'
import { DIGEST_BYTES, pbkdf2Text, readBase64, saltedText, scryptText } from './hash-text.js'

/** Prefixes that only name the format that follows: LDAP, Dovecot, Spring Security, Django, Nextcloud. */
const WRAPPINGS =
  /^(?:\{(?:crypt|bcrypt|blf-crypt|argon2(?:i|id)?|argon2@[\w.]+|sha256-crypt|sha512-crypt)\}|bcrypt\$(?=\$)|argon2(?=\$argon2)|[123]\|(?=\$))/i

type Convert = (text: string) => string | undefined

/**
 * Writes a hash as another system exports it in the form that is stored: bcrypt, a PHC string, or a preparation and one of these.
 * A text that needs no conversion stays; what it is worth is examined later.
 */
export function convertHash(text: string): string {
  const plain = withoutWrappings(decodeLdif(text.trim()))
  for (const convert of CONVERSIONS) {
    const converted = convert(plain)
    if (converted !== undefined) return converted
  }
  return plain
}

function withoutWrappings(text: string): string {
  const rest = text.replace(WRAPPINGS, '')
  return rest === text ? text : withoutWrappings(rest)
}

/** In LDIF, `userPassword::` has the base64 of the value. */
function decodeLdif(text: string): string {
  const decoded = /^e[\w+/]{7,}={0,2}$/.test(text) ? Buffer.from(text, 'base64').toString('latin1') : ''
  return /^\{[\w.-]{1,32}\}[\x21-\x7e]+$/.test(decoded) ? decoded : text
}

const CONVERSIONS: readonly Convert[] = [
  convertKeycloak,
  djangoPbkdf2,
  djangoScrypt,
  djangoBcryptSha256,
  djangoSalted,
  werkzeug,
  passlibPbkdf2,
  passlibBcryptSha256,
  adonisScrypt,
  springPbkdf2,
  springScrypt,
  betterAuth,
  aspNetIdentity,
  ldapSalted,
  ldapPbkdf2,
  atlassian,
  directory389,
  (text) => (text.startsWith('$wp$2y$') ? `{wordpress-sha384}${text.slice(3)}` : undefined)
]

function djangoPbkdf2(text: string): string | undefined {
  const [, digest, iterations, salt, hash] = /^pbkdf2_(sha1|sha256)\$(\d+)\$([^$]+)\$([^$]+)$/.exec(text) ?? []
  return pbkdf2Text({ digest, iterations, salt: utf8(salt), hash: readBase64(hash) })
}

/** `scrypt$N$salt$r$p$hash`; N is no logarithm. */
function djangoScrypt(text: string): string | undefined {
  const [, N, salt, r, p, hash] = /^scrypt\$(\d+)\$([^$]+)\$(\d+)\$(\d+)\$([^$]+)$/.exec(text) ?? []
  return scryptText({ N, r, p, salt: utf8(salt), hash: readBase64(hash) })
}

function djangoBcryptSha256(text: string): string | undefined {
  const [, hash] = /^bcrypt_sha256\$(\$2.*)$/.exec(text) ?? []
  return hash && `{sha256-hex}${hash}`
}

function djangoSalted(text: string): string | undefined {
  const [, digest, salt, hash] = /^(sha1|md5)\$([^$]+)\$([0-9a-f]{32,40})$/.exec(text) ?? []
  return saltedText({ way: 'salt-before', digest, salt: utf8(salt), hash: hex(hash) })
}

/** Werkzeug before 3.0 also had the HMAC of one round. */
function werkzeug(text: string): string | undefined {
  const [, N, r, p, scryptSalt, key] = /^scrypt:(\d+):(\d+):(\d+)\$([^$]+)\$([0-9a-f]+)$/.exec(text) ?? []
  const [, digest, iterations, salt, hash] =
    /^pbkdf2:(sha1|sha256|sha512):(\d+)\$([^$]+)\$([0-9a-f]+)$/.exec(text) ?? []
  const [, hmac, hmacKey, mac] = /^(sha1|sha256|sha512)\$([^$]+)\$([0-9a-f]+)$/.exec(text) ?? []
  return (
    scryptText({ N, r, p, salt: utf8(scryptSalt), hash: hex(key) }) ??
    pbkdf2Text({ digest, iterations, salt: utf8(salt), hash: hex(hash) }) ??
    saltedText({ way: 'hmac', digest: hmac, salt: utf8(hmacKey), hash: hex(mac) })
  )
}

/** Devise, GitLab and Authelia have it as well. The base64 may have `.` in place of `+`. */
function passlibPbkdf2(text: string): string | undefined {
  const [, digest = text.startsWith('$pbkdf2$') ? 'sha1' : undefined, iterations, salt, hash] =
    /^\$pbkdf2(?:-(sha1|sha256|sha512))?\$(\d+)\$([^$]+)\$([^$]+)$/.exec(text) ?? []
  return pbkdf2Text({ digest, iterations, salt: readBase64(salt), hash: readBase64(hash) })
}

function passlibBcryptSha256(text: string): string | undefined {
  const [, newRounds, oldRounds, salt, hash] =
    /^\$bcrypt-sha256\$(?:v=2,t=2b,r=(\d{1,2})|2[ab],(\d{1,2}))\$([./A-Za-z0-9]{22})\$([./A-Za-z0-9]{31})$/.exec(
      text
    ) ?? []
  if (salt === undefined) return undefined
  const preparation = newRounds === undefined ? 'sha256-base64' : 'salted-sha256-base64'
  return `{${preparation}}$2b$${(newRounds ?? oldRounds ?? '').padStart(2, '0')}$${salt}${hash}`
}

/** A PHC string with `n`, where others have its logarithm. */
function adonisScrypt(text: string): string | undefined {
  const [, N, r, p, salt, hash] = /^\$scrypt\$n=(\d+),r=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(text) ?? []
  return scryptText({ N, r, p, salt: readBase64(salt), hash: readBase64(hash) })
}

/** The encoder has no secret. The parameters are those of the encoder with this name. */
function springPbkdf2(text: string): string | undefined {
  const [, version, hash] = /^\{pbkdf2(?:@SpringSecurity_v(5_5|5_8))?\}([0-9a-f]{64,128})$/.exec(text) ?? []
  const bytes = hex(hash)
  if (bytes === undefined) return undefined
  const [digest, iterations, saltBytes] =
    version === '5_8' ? (['sha256', '310000', 16] as const) : (['sha1', '185000', 8] as const)
  if (bytes.length !== saltBytes + 32) return undefined
  return pbkdf2Text({ digest, iterations, salt: bytes.subarray(0, saltBytes), hash: bytes.subarray(saltBytes) })
}

/** The parameters are one hexadecimal number: the logarithm of N, then a byte each for r and p. */
function springScrypt(text: string): string | undefined {
  const [, params, salt, hash] = /^(?:\{scrypt(?:@[\w.]+)?\})?\$([0-9a-f]{5,6})\$([^$]+)\$([^$]+)$/i.exec(text) ?? []
  const bytes = hex(params?.padStart(6, '0'))
  if (bytes === undefined) return undefined
  const [log = 0, r, p] = bytes
  return scryptText({ N: String(2 ** log), r: String(r), p: String(p), salt: readBase64(salt), hash: readBase64(hash) })
}

/** Lucia has it as well, with `s2:` before it. The text of the salt is the salt. */
function betterAuth(text: string): string | undefined {
  const [, salt, hash] = /^(?:s2:)?([A-Za-z0-9]{16,64}):([0-9a-f]{128})$/.exec(text) ?? []
  const converted = scryptText({ N: '16384', r: '16', p: '1', salt: utf8(salt), hash: hex(hash) })
  return converted && `{nfkc}${converted}`
}

/** Version 3 names its parameters; version 2 is always the same. */
function aspNetIdentity(text: string): string | undefined {
  const bytes = readBase64(/^A[\w+/]{50,}={0,2}$/.test(text) ? text : undefined)
  if (bytes?.[0] === 0 && bytes.length === 49) {
    return pbkdf2Text({ digest: 'sha1', iterations: '1000', salt: bytes.subarray(1, 17), hash: bytes.subarray(17) })
  }
  if (bytes?.[0] !== 1) return undefined
  const [digestNumber, iterations, saltBytes] = [1, 5, 9].map((at) => bytes.readUInt32BE(at)) as [
    number,
    number,
    number
  ]
  const salt = bytes.subarray(13, 13 + saltBytes)
  const hash = bytes.subarray(13 + saltBytes)
  return pbkdf2Text({ digest: ['sha1', 'sha256', 'sha512'][digestNumber], iterations: String(iterations), salt, hash })
}

function ldapSalted(text: string): string | undefined {
  const [, name, value] = /^\{(smd5|ssha(?:256|384|512)?)\}([^{}$]+)$/i.exec(text) ?? []
  const bytes = readBase64(value)
  if (name === undefined || bytes === undefined) return undefined
  const digest = { smd5: 'md5', ssha: 'sha1' }[name.toLowerCase()] ?? name.toLowerCase().slice(1)
  const length = DIGEST_BYTES[digest]
  return saltedText({ way: 'salt-after', digest, salt: bytes.subarray(length), hash: bytes.subarray(0, length) })
}

function ldapPbkdf2(text: string): string | undefined {
  const [, digest = 'sha1', iterations, salt, hash] =
    /^\{PBKDF2(?:[-_](SHA1|SHA256|SHA512))?\}(\d+)\$([^$]+)\$([^$]+)$/i.exec(text) ?? []
  return pbkdf2Text({ digest: digest.toLowerCase(), iterations, salt: readBase64(salt), hash: readBase64(hash) })
}

function atlassian(text: string): string | undefined {
  const bytes = readBase64(/^\{PKCS5S2\}([\w+/]+={0,2})$/i.exec(text)?.[1])
  if (bytes?.length !== 48) return undefined
  return pbkdf2Text({ digest: 'sha1', iterations: '10000', salt: bytes.subarray(0, 16), hash: bytes.subarray(16) })
}

/** 389 Directory Server: four bytes of iterations, 64 of salt, 256 of the hash. */
function directory389(text: string): string | undefined {
  const bytes = readBase64(/^\{PBKDF2_SHA256\}([\w+/]+={0,2})$/i.exec(text)?.[1])
  if (bytes?.length !== 324) return undefined
  const iterations = String(bytes.readUInt32BE(0))
  return pbkdf2Text({ digest: 'sha256', iterations, salt: bytes.subarray(4, 68), hash: bytes.subarray(68) })
}

const utf8 = (text: string | undefined): Buffer | undefined => (text === undefined ? undefined : Buffer.from(text))

function hex(text: string | undefined): Buffer | undefined {
  return text === undefined || text.length % 2 === 1 ? undefined : Buffer.from(text, 'hex')
}
