import { pbkdf2Sync, scryptSync } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { hash as hashArgon2 } from '@node-rs/argon2'
import { hash as hashBcrypt } from '@node-rs/bcrypt'
import { readForeignHash } from '../../../src/platform/passwords/foreign-hash.js'
import { isOutdated, verifyPassword } from '../../../src/platform/passwords/password.js'

/** Numbers of the library: its const enum cannot be imported. */
const [ARGON2I, ARGON2ID] = [1, 2]
const PASSWORD = 'gravel walks at dawn'
const SALT = Buffer.from('0123456789abcdef')
const salt = SALT.toString('base64').replaceAll('=', '')
const phc = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')

const pbkdf2 = (digest: string, length: number) =>
  `$pbkdf2-${digest}$i=1000,l=${length}$${salt}$${phc(pbkdf2Sync(PASSWORD, SALT, 1000, length, digest))}`
const cheapArgon2 = { memoryCost: 64, timeCost: 1, parallelism: 1 }

describe('hashes of other systems: the right password matches, another one does not', () => {
  test.each([
    { name: 'argon2id', create: () => hashArgon2(PASSWORD, { ...cheapArgon2, algorithm: ARGON2ID }) },
    { name: 'argon2i', create: () => hashArgon2(PASSWORD, { ...cheapArgon2, algorithm: ARGON2I }) },
    { name: 'bcrypt $2b$', create: () => hashBcrypt(PASSWORD, { cost: 4 }) },
    { name: 'bcrypt $2a$', create: () => hashBcrypt(PASSWORD, { cost: 4, version: '2a' }) },
    { name: 'bcrypt $2y$', create: () => hashBcrypt(PASSWORD, { cost: 4, version: '2y' }) },
    {
      name: 'scrypt',
      create: async () =>
        `$scrypt$ln=10,r=8,p=1$${salt}$${phc(scryptSync(PASSWORD, SALT, 32, { N: 1024, r: 8, p: 1 }))}`
    },
    {
      name: 'scrypt with 64 MiB, more than the limit of Node',
      create: async () => {
        const options = { N: 2 ** 16, r: 8, p: 1, maxmem: 2 ** 28 }
        return `$scrypt$ln=16,r=8,p=1$${salt}$${phc(scryptSync(PASSWORD, SALT, 32, options))}`
      }
    },
    { name: 'pbkdf2-sha256', create: async () => pbkdf2('sha256', 32) },
    { name: 'pbkdf2-sha512', create: async () => pbkdf2('sha512', 64) }
  ])('$name', async ({ create }) => {
    const text = await create()
    const read = readForeignHash(text)
    expect(read).toEqual({ passwordHash: text })
    expect(await verifyPassword(text, PASSWORD)).toBe(true)
    expect(await verifyPassword(text, `${PASSWORD}!`)).toBe(false)
    expect(isOutdated(text)).toBe(true)
  })

  test('a PHC string of bcrypt is stored in the format of bcrypt', async () => {
    const own = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
    const base64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
    const modular = await hashBcrypt(PASSWORD, { cost: 4 })
    const characters = [...modular.slice(7)].map((character) => base64[own.indexOf(character)]).join('')
    const text = `$bcrypt$v=98$r=4$${characters.slice(0, 22)}$${characters.slice(22)}`
    expect(readForeignHash(text)).toEqual({ passwordHash: modular })
    expect(await verifyPassword(modular, PASSWORD)).toBe(true)
  })

  test('bcrypt compares 72 bytes of the password, as the system that made the hash did', async () => {
    const text = await hashBcrypt('x'.repeat(80), { cost: 4 })
    expect(await verifyPassword(text, `${'x'.repeat(72)}y`)).toBe(true)
    expect(await verifyPassword(text, 'x'.repeat(71))).toBe(false)
  })

  test('the characters are compared as they were typed: the other system did not normalise them', async () => {
    const typed = 'pa\u0308sswo\u0308rter am Morgen'
    expect(await verifyPassword(await hashBcrypt(typed, { cost: 4 }), typed)).toBe(true)
    expect(await verifyPassword(await hashArgon2(typed, cheapArgon2), typed)).toBe(true)
  })
})

const bytes = (length: number) => phc(Buffer.alloc(length, 7))
const hash = bytes(32)

describe('an import refuses', () => {
  test.each([
    { name: 'plain text', text: 'secret', problem: /no PHC string/ },
    { name: 'MD5', text: '5f4dcc3b5aa765d61d8327deb882cf99', problem: /MD5 or NT hash without salt/ },
    { name: 'argon2d', text: `$argon2d$v=19$m=64,t=1,p=1$${salt}$${hash}`, problem: /argon2d is not supported/ },
    { name: 'an old argon2', text: `$argon2i$m=64,t=1,p=1$${salt}$${hash}`, problem: /version 19/ },
    { name: 'argon2 with 4 GiB', text: `$argon2id$v=19$m=4194304,t=1,p=1$${salt}$${hash}`, problem: /memory in KiB/ },
    { name: 'argon2 with many passes', text: `$argon2id$v=19$m=262144,t=999,p=1$${salt}$${hash}`, problem: /passes/ },
    { name: 'argon2 with 255 lanes', text: `$argon2id$v=19$m=64000,t=1,p=255$${salt}$${hash}`, problem: /lanes/ },
    { name: 'argon2 with 1 KiB', text: `$argon2id$v=19$m=1,t=1,p=1$${salt}$${hash}`, problem: /memory in KiB/ },
    {
      name: 'argon2 with half a pass',
      text: `$argon2id$v=19$m=64,t=0.5,p=1$${salt}$${hash}`,
      problem: /whole numbers|no PHC/
    },
    { name: 'argon2 without passes', text: `$argon2id$v=19$m=64,t=0,p=1$${salt}$${hash}`, problem: /passes/ },
    {
      name: 'argon2 with a key id',
      text: `$argon2id$v=19$m=64,t=1,p=1,keyid=aa$${salt}$${hash}`,
      problem: /no PHC|no others/
    },
    { name: 'bcrypt with cost 31', text: `$2b$31$${'.'.repeat(53)}`, problem: /bcrypt cost/ },
    { name: 'bcrypt with cost 03', text: `$2b$03$${'.'.repeat(53)}`, problem: /bcrypt cost/ },
    { name: 'bcrypt with cost 00', text: `$2b$00$${'.'.repeat(53)}`, problem: /bcrypt cost/ },
    { name: 'bcrypt $2x$', text: `$2x$10$${'.'.repeat(53)}`, problem: /is no complete bcrypt/ },
    { name: 'bcrypt that is cut off', text: `$2b$10$${'.'.repeat(50)}`, problem: /is no complete bcrypt/ },
    { name: 'bcrypt with a salt of 17 bytes', text: `$2b$10$${'.'.repeat(21)}/${'.'.repeat(31)}`, problem: /complete/ },
    { name: 'bcrypt with a hash of 24 bytes', text: `$2b$10$${'.'.repeat(52)}/`, problem: /complete bcrypt/ },
    {
      name: 'PHC of bcrypt with a longer hash',
      text: `$bcrypt$r=10$${'A'.repeat(22)}$${'A'.repeat(30)}B`,
      problem: /complete bcrypt/
    },
    { name: 'scrypt with 16 GiB', text: `$scrypt$ln=20,r=128,p=1$${salt}$${hash}`, problem: /memory in bytes/ },
    { name: 'scrypt with a huge N', text: `$scrypt$ln=99999,r=8,p=1$${salt}$${hash}`, problem: /ln/ },
    { name: 'scrypt with a huge p', text: `$scrypt$ln=14,r=8,p=4096$${salt}$${hash}`, problem: /times p/ },
    { name: 'scrypt with N too large for r', text: `$scrypt$ln=16,r=1,p=1$${salt}$${hash}`, problem: /ln/ },
    { name: 'scrypt with 2 GiB for p', text: `$scrypt$ln=1,r=1,p=4000000$${salt}$${hash}`, problem: /memory in bytes/ },
    { name: 'scrypt without r', text: `$scrypt$ln=14,p=1$${salt}$${hash}`, problem: /parameters ln, r, p/ },
    { name: 'pbkdf2 with 2^31 iterations', text: `$pbkdf2-sha256$i=2147483648$${salt}$${hash}`, problem: /iterations/ },
    { name: 'pbkdf2-md5', text: `$pbkdf2-md5$i=1000$${salt}$${hash}`, problem: /not supported/ },
    { name: 'no hash', text: `$pbkdf2-sha256$i=1000$${salt}`, problem: /no PHC string/ },
    { name: 'a hash of one byte', text: `$pbkdf2-sha256$i=1000$${salt}$${bytes(1)}`, problem: /hash must have/ },
    { name: 'a salt of two bytes', text: `$pbkdf2-sha256$i=1000$${bytes(2)}$${hash}`, problem: /salt must have/ },
    { name: 'a name of an object', text: `$constructor$i=1$${salt}$${hash}`, problem: /not supported/ },
    { name: 'a long text', text: `$pbkdf2-sha256$i=1000$${salt}$${'A'.repeat(10_000)}`, problem: /no PHC string/ }
  ])('$name', ({ text, problem }) => {
    const read = readForeignHash(text)
    expect(read).toEqual({ problem: expect.stringMatching(problem) })
    expect(JSON.stringify(read)).not.toContain(hash)
  })
})

describe('the smallest and largest parameters that an import accepts can be verified', () => {
  test.each([
    `$argon2id$v=19$m=8,t=1,p=1$${salt}$${hash}`,
    `$argon2i$v=19$m=128,t=1,p=16$${salt}$${hash}`,
    `$2b$04$${'.'.repeat(53)}`,
    `$scrypt$ln=1,r=1,p=1$${salt}$${hash}`,
    `$scrypt$ln=15,r=1,p=1$${salt}$${hash}`,
    `$scrypt$ln=1,r=1,p=2000000$${salt}$${hash}`,
    `$pbkdf2-sha256$i=1$${salt}$${hash}`
  ])('%s', async (text) => {
    expect(readForeignHash(text)).toEqual({ passwordHash: text })
    expect(await verifyPassword(text, PASSWORD)).toBe(false)
  })
})
