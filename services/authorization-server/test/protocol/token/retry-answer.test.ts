import { randomBytes } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { digestToken, mintOpaqueToken } from '@valetkey/oauth-protocol'
import fc from 'fast-check'
import { encryptAnswer, openAnswer, type RetryAnswer } from '../../../src/protocol/token/retry-answer.js'

const TOKEN = mintOpaqueToken('refreshToken', randomBytes)

const answer: RetryAnswer = {
  accessToken: 'vk_at_access',
  refreshToken: 'vk_rt_successor',
  scope: ['files.read'],
  expiresAt: '2026-11-21T12:00:00.000Z'
}

const anyAnswer: fc.Arbitrary<RetryAnswer> = fc.record({
  accessToken: fc.string({ unit: 'binary' }),
  refreshToken: fc.string(),
  scope: fc.array(fc.string()),
  expiresAt: fc.date({ noInvalidDate: true }).map((date) => date.toISOString())
})

describe('the sealed answer of a refresh', () => {
  test('opens with the token it was sealed with, to what it was', () => {
    fc.assert(
      fc.property(anyAnswer, fc.string(), (sealed, token) => {
        expect(openAnswer(encryptAnswer(sealed, token), token)).toEqual(sealed)
      })
    )
  })

  test('opens with no other token', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (token, other) => {
        fc.pre(token !== other)
        const sealed = encryptAnswer(answer, token)
        expect(() => openAnswer(sealed, other)).toThrow()
      })
    )
  })

  test.each([
    { name: 'the token’s stored hash', key: digestToken(TOKEN).toString('hex') },
    { name: 'the bytes of that hash', key: digestToken(TOKEN).toString('latin1') },
    { name: 'the token in other letters', key: TOKEN.toLowerCase() },
    { name: 'nothing', key: '' }
  ])('does not open with $name', ({ key }) => {
    const sealed = encryptAnswer(answer, TOKEN)
    expect(() => openAnswer(sealed, key)).toThrow()
  })

  test('does not open when a single bit of it is another: nonce, tag or text', () => {
    const sealed = encryptAnswer(answer, TOKEN)
    fc.assert(
      fc.property(fc.nat(sealed.length * 8 - 1), (bit) => {
        const tampered = Buffer.from(sealed)
        tampered[bit >> 3] = (tampered[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        expect(() => openAnswer(tampered, TOKEN)).toThrow()
      }),
      { numRuns: 500 }
    )
  })

  test('does not open when it is cut anywhere or has bytes behind it', () => {
    const sealed = encryptAnswer(answer, TOKEN)
    for (let length = 0; length < sealed.length; length++) {
      expect(() => openAnswer(sealed.subarray(0, length), TOKEN)).toThrow()
    }
    expect(() => openAnswer(Buffer.concat([sealed, Buffer.alloc(1)]), TOKEN)).toThrow()
  })

  test('never looks the same twice, so nobody sees that two answers are equal', () => {
    const seals = Array.from({ length: 200 }, () => encryptAnswer(answer, TOKEN))
    const nonces = new Set(seals.map((sealed) => sealed.subarray(0, 12).toString('hex')))
    const texts = new Set(seals.map((sealed) => sealed.subarray(28).toString('hex')))
    expect([nonces.size, texts.size]).toEqual([200, 200])
  })

  test('shows none of its text', () => {
    const sealed = encryptAnswer(answer, TOKEN).toString('latin1')
    for (const part of ['vk_at_', 'vk_rt_', 'files', '2026', 'accessToken', TOKEN]) expect(sealed).not.toContain(part)
  })
})
