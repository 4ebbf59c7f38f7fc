import { expect, test } from '@jest/globals'
import { defaultPasswordMemory } from '../src/sign-in-config.js'

const MIB = 1024 * 1024

test.each([
  { limit: 0, expected: 288 },
  { limit: 2 ** 64, expected: 288 },
  { limit: 4096 * MIB, expected: 288 },
  { limit: 512 * MIB, expected: 288 },
  { limit: 384 * MIB, expected: 160 },
  { limit: 128 * MIB, expected: 32 }
])('in a container of $limit bytes, password hashes take $expected MiB', ({ limit, expected }) => {
  expect(defaultPasswordMemory(limit)).toBe(expected)
})
