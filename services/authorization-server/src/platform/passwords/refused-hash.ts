import { PREPARATION_NAMES } from './prepared-password.js'

/** What an operator can do for the users of a hash that cannot be verified. */
export const INVITE = 'leave password_hash out and send the user a link (valetkey users invite, or reset-link)'
const wrap = (preparation: string) =>
  `hash each of these texts (in lower case) with bcrypt and import {${preparation}} before the result, or ${INVITE}`

/** The order matters: a more general form comes later. */
const REFUSED: readonly (readonly [RegExp, string, string])[] = [
  [/^\$1\$/, 'MD5-crypt ($1$)', INVITE],
  [/^\$apr1\$/, 'the MD5 of Apache ($apr1$)', INVITE],
  [/^\$md5[,$]/, 'the MD5-crypt of Solaris', INVITE],
  [/^\$3\$/, 'an NT hash', INVITE],
  [/^\$(?:y|gy|7)\$/, 'yescrypt, gost-yescrypt or scrypt of crypt(3)', INVITE],
  [/^\$sha1\$/, 'SHA1-crypt of NetBSD', INVITE],
  [/^\$p5k2\$/, 'PBKDF2 in the form $p5k2$', INVITE],
  [/^grub\.pbkdf2\./, 'PBKDF2 of GRUB', 'write it as $pbkdf2-sha512$i=ITERATIONS$SALT$HASH with base64'],
  [/^\$scram\$|^SCRAM-SHA-/, 'a SCRAM verifier', INVITE],
  [/^\{FSHP/i, 'FSHP', INVITE],
  [/^c2NyeXB0/, 'a header of scrypt-kdf', INVITE],
  [/^md5[0-9a-f]{32}$/, 'the MD5 of Postgres', INVITE],
  [/^\*[0-9A-F]{40}$/i, 'a hash of MySQL', INVITE],
  [/^0x0[12]00/i, 'a hash of SQL Server', INVITE],
  [/^S:[0-9A-F]{60}/i, 'a hash of Oracle', INVITE],
  [/^[0-9a-f]{32}$/i, 'an MD5 or NT hash without salt', `for MD5 ${wrap('md5-hex')}`],
  [/^[0-9a-f]{40}$/i, 'a SHA-1 hash without salt', wrap('sha1-hex')],
  [/^[0-9a-f]{64}$/i, 'a SHA-256 hash without salt', wrap('sha256-hex')],
  [/^[0-9a-f]{128}$/i, 'a SHA-512 hash without salt', wrap('sha512-hex')],
  [/^sha1\$\$[0-9a-f]{40}$/, 'a SHA-1 hash without salt', wrap('sha1-hex')],
  [/^md5\$\$[0-9a-f]{32}$/, 'an MD5 hash without salt', wrap('md5-hex')],
  [/^\{(?:SHA|SHA-1)\}/i, 'a SHA-1 hash without salt', wrap('sha1-hex')],
  [/^\{MD5\}/i, 'an MD5 hash without salt', wrap('md5-hex')],
  [/^\{sha256\}[0-9a-f]{80}$/i, 'the StandardPasswordEncoder of Spring Security', INVITE],
  [/^\{(?:SHA256|SHA-256)\}/i, 'a SHA-256 hash without salt', wrap('sha256-hex')],
  [/^\{(?:SHA512|SHA-512)\}/i, 'a SHA-512 hash without salt', wrap('sha512-hex')],
  [
    /^\{(?:cleartext|clear|plain|plaintext|noop)\}/i,
    'a password that is not hashed',
    'hash it with bcrypt or argon2id'
  ],
  [/^(?:\{SASL\}|\{KERBEROS\})/i, 'a password that another server verifies', INVITE],
  [/^(?:crypt\$.*|[./A-Za-z0-9]{13}|_[./A-Za-z0-9]{19})$/, 'DES-crypt', INVITE],
  [/^[\w+/-]{86}(?:==)?$/, 'the scrypt of Firebase, which needs a key of the project', INVITE],
  [
    /^[!*]|^x$|^NP$/,
    'the mark of a locked or missing password',
    'leave password_hash out; "disabled":true forbids the sign-in'
  ],
  [/^\{"/, 'no credential of Keycloak with a supported algorithm', INVITE]
]

/** Names a format that is known and not verified, and says what to do. @returns undefined for other texts */
export function problemOfRefusedHash(text: string): string | undefined {
  const [, name, advice] = REFUSED.find(([pattern]) => pattern.test(text)) ?? []
  if (name !== undefined) return `is ${name}, which is not verified here: ${advice}`
  const [, scheme] = /^(\{[\w.@-]{1,40}\})/.exec(text) ?? []
  if (scheme === undefined) return undefined
  return `${scheme} with this content is not supported (of preparations, ${PREPARATION_NAMES.join(', ')} are): ${INVITE}`
}
