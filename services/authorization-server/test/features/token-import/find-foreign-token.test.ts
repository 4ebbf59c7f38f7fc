import { describe, expect, test } from '@jest/globals'
import { hashToken, type TokenHash } from '@valetkey/oauth-protocol'
import { createForeignTokenFinder } from '../../../src/features/token-import/find-foreign-token.js'

const KEY = 'k'.repeat(43)
const SIGNATURE = 's'.repeat(43)

/** Has these values; counts the look-ups. */
function finderFor(values: readonly string[]) {
  const state = { values, lookups: [] as number[], now: 0 }
  const finder = createForeignTokenFinder(
    {
      async find(hashes: readonly TokenHash[]) {
        state.lookups.push(hashes.length)
        const known = state.values.map(hashToken)
        const found = hashes.find((hash) => known.some((each) => each.equals(hash)))
        return { found, isEmpty: known.length === 0 }
      }
    },
    () => state.now
  )
  return { find: finder.findHashedPart, state }
}

describe('the finder of tokens of another server', () => {
  test('returns a known value, and nothing for another', async () => {
    const { find } = finderFor(['abc'])
    expect([await find('abc'), await find('abd')]).toEqual(['abc', undefined])
  })

  test.each(['vk_rt_x', 'vk_at_x', 'vk_ac_x', 'vk_cs_x', 'vk_ok_x', 'vk_ru_x'])(
    'looks no value up with a prefix of this server: %s',
    async (value) => {
      const { find, state } = finderFor([value])
      expect([await find(value), state.lookups]).toEqual([undefined, []])
    }
  )

  test('looks nothing up for a second after it found the table empty, and then again', async () => {
    const { find, state } = finderFor([])
    await find('abc')
    state.values = ['abc']
    state.now = 999
    expect([await find('abc'), state.lookups.length]).toEqual([undefined, 1])
    state.now = 1_000
    expect([await find('abc'), state.lookups.length]).toEqual(['abc', 2])
  })

  test('looks each value up while the table has rows', async () => {
    const { find, state } = finderFor(['abc'])
    for (const value of ['x', 'y', 'abc']) await find(value)
    expect(state.lookups).toEqual([1, 1, 1])
  })

  test.each([
    ['since version 2', `ory_rt_${KEY}.${SIGNATURE}`],
    ['before version 2', `${KEY}.${SIGNATURE}`]
  ])('finds the signature of a token of Ory Hydra %s', async (_name, value) => {
    expect(await finderFor([SIGNATURE]).find(value)).toBe(SIGNATURE)
  })

  test('finds a token as a whole whose form is that of Ory Hydra', async () => {
    expect(await finderFor([`${KEY}.${SIGNATURE}`]).find(`${KEY}.${SIGNATURE}`)).toBe(`${KEY}.${SIGNATURE}`)
  })

  test.each([
    ['a longer signature', `${KEY}.${SIGNATURE}s`],
    ['a shorter key', `ory_rt_k.${SIGNATURE}`],
    ['the signature alone after another prefix', `ory_at_${KEY}.${SIGNATURE}`]
  ])('does not take a part of a value with %s', async (_name, value) => {
    const { find, state } = finderFor([SIGNATURE])
    expect([await find(value), state.lookups]).toEqual([undefined, [1]])
  })
})
