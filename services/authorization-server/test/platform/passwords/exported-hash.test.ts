import { describe, expect, test } from '@jest/globals'
import { readForeignHash } from '../../../src/platform/passwords/foreign-hash.js'
import { costOf } from '../../../src/platform/passwords/hash-cost.js'
import { isOutdated, verifyPassword } from '../../../src/platform/passwords/password.js'
import { EXPORTED_HASHES, REFUSED_HASHES } from './exported-hashes.js'

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
