import { describe, expect, test } from '@jest/globals'
import { readForeignHash } from '../../../src/platform/passwords/foreign-hash.js'
import { costOf } from '../../../src/platform/passwords/hash-cost.js'
import { isOutdated, verifyPassword } from '../../../src/platform/passwords/password.js'
import { EXPORTED_HASHES } from './exported-hashes.js'
import { REFUSED_HASHES } from './refused-hashes.js'

function storedForm(text: string): string {
  const read = readForeignHash(text)
  if ('problem' in read) throw new Error(read.problem)
  return read.passwordHash
}

describe('hashes as systems export them: only the right password matches, and the cost is known', () => {
  test.each(EXPORTED_HASHES)('$system', async ({ text, password }) => {
    const stored = storedForm(text)
    expect(await verifyPassword(stored, password)).toBe(true)
    expect(await verifyPassword(stored, `${password}!`)).toBe(false)
    expect(isOutdated(stored)).toBe(true)
    expect(costOf(stored)).not.toEqual(costOf('unknown'))
    // What is stored can be imported again, for example from a backup.
    expect(storedForm(stored)).toBe(stored)
  })
})

describe('formats that are not verified: each is named, with what to do, without the hash', () => {
  test.each(REFUSED_HASHES)('$name', ({ text, says }) => {
    const read = readForeignHash(text)
    expect(read).toEqual({ problem: expect.stringContaining(says) })
    expect(read).toEqual({
      problem: expect.stringMatching(/valetkey users invite|leave password_hash out|hash it|write it/)
    })
    if (text.length > 20) expect(JSON.stringify(read)).not.toContain(text)
  })
})

test.each([
  '$argon2d$v=19$m=64,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc',
  `$2x$10$${'.'.repeat(53)}`,
  'secret'
])('a text of a known family or of none also says what to do: %s', (text) => {
  expect(readForeignHash(text)).toEqual({ problem: expect.stringContaining('valetkey users invite') })
})

describe('bounds', () => {
  test.each([
    { text: `$6$rounds=700001$salt$${'.'.repeat(86)}`, problem: /rounds must be from 1000 to 700000/ },
    { text: `$5$rounds=999$salt$${'.'.repeat(43)}`, problem: /rounds must be/ },
    { text: `$P$Zabcdefgh${'.'.repeat(22)}`, problem: /rounds must be/ },
    { text: `$salt-after-sha256$MDEyMzQ1Njc4OWFiY2RlZg$${'A'.repeat(22)}`, problem: /hash must have 32 bytes/ },
    { text: 'pbkdf2_sha256$99999999$saltsaltsalt$9rLs0RvZHtkZV7E8epULJfuv9/J7y4cBAcgaZdyBpBQ=', problem: /iterations/ },
    { text: `scrypt:1073741824:8:1$saltsalt$${'ab'.repeat(64)}`, problem: /ln must be/ },
    { text: `{md5-hex}$2b$31$${'.'.repeat(53)}`, problem: /bcrypt cost/ },
    { text: `{md5-hex}{md5-hex}$2b$10$${'.'.repeat(53)}`, problem: /with this content is not supported/ }
  ])('$text', ({ text, problem }) => {
    expect(readForeignHash(text)).toEqual({ problem: expect.stringMatching(problem) })
  })
})

describe('a hash that lost a character is refused: no password would match it, or the library would fail', () => {
  test.each([
    'pbkdf2_sha256$1000$7JoZRn5yfo39$9rLs0RvZHtkZV7E8epULJfuv9/J7y4cBAcgaZdyBpB=',
    '$pbkdf2-sha256$1000$EsI4p9T6X.vdm/M.R4gxpg$O0goDYiTswZj3yiSGNw2vWv88rSYgfr4oo8sPSPeIV',
    '$argon2id$v=19$m=64,t=1,p=1$MkpjcUV1NUZkbklFQkJBWg$NyahMkVKLh/W1v7aO/DIEjjVwLDF9JaQ8BH1Qy6EeF',
    '$argon2id$v=19$m=64,t=1,p=1$MkpjcUV1NUZkbklFQkJBWg$NyahMkVKLh/W1v7aO.DIEjjVwLDF9JaQ8BH1Qy6EeFE',
    '{SSHA}KRhxe1pJ3unRN8mcgYgoTQGcTD67d0'
  ])('%s', (text) => {
    expect(readForeignHash(text)).toEqual({ problem: expect.any(String) })
  })
})

test('other work has its turn while SHA-crypt is computed', async () => {
  const stored = storedForm(`$6$rounds=20000$saltstring$${'.'.repeat(86)}`)
  let turns = 0
  const counting = setInterval(() => {
    turns += 1
  }, 0)
  await verifyPassword(stored, 'gravel walks at dawn')
  clearInterval(counting)
  expect(turns).toBeGreaterThan(2)
})
