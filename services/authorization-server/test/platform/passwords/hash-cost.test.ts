import { expect, test } from '@jest/globals'
import { costOf } from '../../../src/platform/passwords/hash-cost.js'

const MIB = 1024 * 1024
const TAIL = '$MDEyMzQ1Njc4OWFiY2RlZg$'
const hash = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64').replaceAll('=', '')

test.each([
  { text: `$argon2id$v=19$m=19456,t=2,p=1${TAIL}${hash(32)}`, mib: 19, ms: 15 },
  { text: `$argon2id$v=19$m=262144,t=4,p=16${TAIL}${hash(32)}`, mib: 256, ms: 410 },
  { text: `{ARGON2}$argon2i$v=19$m=65536,t=3,p=4${TAIL}${hash(32)}`, mib: 64, ms: 77 },
  { text: `$scrypt$ln=15,r=8,p=1${TAIL}${hash(32)}`, mib: 32, ms: 80 },
  { text: `$scrypt$ln=16,r=8,p=4${TAIL}${hash(32)}`, mib: 64, ms: 640 },
  { text: `$scrypt$ln=1,r=1,p=2000000${TAIL}${hash(32)}`, mib: 244, ms: 1_221 },
  { text: `$2b$10$${'.'.repeat(53)}`, mib: 0, ms: 46 },
  { text: `{BCRYPT}$2y$15$${'.'.repeat(53)}`, mib: 0, ms: 1_475 },
  { text: `$pbkdf2-sha256$i=1000000${TAIL}${hash(32)}`, mib: 0, ms: 300 },
  { text: `$pbkdf2-sha256$i=1000000${TAIL}${hash(64)}`, mib: 0, ms: 600 },
  { text: `$pbkdf2-sha512$i=1000000${TAIL}${hash(64)}`, mib: 0, ms: 600 },
  { text: `{md5-hex}$pbkdf2-sha1$i=1000000${TAIL}${hash(20)}`, mib: 0, ms: 300 },
  { text: `{nfkc}$scrypt$ln=14,r=16,p=1${TAIL}${hash(64)}`, mib: 32, ms: 80 },
  { text: `$6$rounds=656000$salt$${'.'.repeat(86)}`, mib: 0, ms: 1_968 },
  { text: `{sha256-hex}$5$salt$${'.'.repeat(43)}`, mib: 0, ms: 15 },
  { text: `$P$Babcdefgh${'.'.repeat(22)}`, mib: 0, ms: 25 },
  { text: `$salt-after-sha1${TAIL}${hash(20)}`, mib: 0, ms: 0 }
])('the cost of $text is read', ({ text, mib, ms }) => {
  const { bytes, milliseconds } = costOf(text)
  expect([Math.round(bytes / MIB), Math.round(milliseconds)]).toEqual([mib, ms])
})

test.each(['$probe$', '', '$argon2id$v=19$t=2$x', '$scrypt$x', '$pbkdf2-md5$i=1$x$y'])(
  '%p, whose cost cannot be read, counts as the most that an import accepts',
  (text) => {
    expect(costOf(text)).toEqual({ milliseconds: 2_000, bytes: 256 * MIB })
  }
)
