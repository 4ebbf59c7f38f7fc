import { randomBytes } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { hashToken, newOpaqueToken } from '@valetkey/oauth-protocol'
import fc from 'fast-check'
import { decryptResponse, encryptResponse, type RetryResponse } from '../../../src/protocol/token/retry-response.js'

const TOKEN = newOpaqueToken('refreshToken', randomBytes)

const response: RetryResponse = {
  accessToken: 'vk_at_access',
  refreshToken: 'vk_rt_successor',
  scope: ['files.read'],
  expiresAt: '2026-11-21T12:00:00.000Z'
}

const anyResponse: fc.Arbitrary<RetryResponse> = fc.record({
  accessToken: fc.string({ unit: 'binary' }),
  refreshToken: fc.string(),
  scope: fc.array(fc.string()),
  expiresAt: fc.date({ noInvalidDate: true }).map((date) => date.toISOString())
})

describe('encrypted response of a refresh', () => {
  test('decrypts with the same token to the same response', () => {
    fc.assert(
      fc.property(anyResponse, fc.string(), (original, token) => {
        expect(decryptResponse(encryptResponse(original, token), token)).toEqual(original)
      })
    )
  })

  test('does not decrypt with another token', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (token, other) => {
        fc.pre(token !== other)
        const encrypted = encryptResponse(response, token)
        expect(() => decryptResponse(encrypted, other)).toThrow()
      })
    )
  })

  test.each([
    { name: 'the token’s stored hash', key: hashToken(TOKEN).toString('hex') },
    { name: 'the bytes of that hash', key: hashToken(TOKEN).toString('latin1') },
    { name: 'the token in lower case', key: TOKEN.toLowerCase() },
    { name: 'an empty key', key: '' }
  ])('does not decrypt with $name', ({ key }) => {
    const encrypted = encryptResponse(response, TOKEN)
    expect(() => decryptResponse(encrypted, key)).toThrow()
  })

  test('does not decrypt after any bit of nonce, tag or text was changed', () => {
    const encrypted = encryptResponse(response, TOKEN)
    fc.assert(
      fc.property(fc.nat(encrypted.length * 8 - 1), (bit) => {
        const tampered = Buffer.from(encrypted)
        tampered[bit >> 3] = (tampered[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        expect(() => decryptResponse(tampered, TOKEN)).toThrow()
      }),
      { numRuns: 500 }
    )
  })

  test('does not decrypt when bytes are missing or added at the end', () => {
    const encrypted = encryptResponse(response, TOKEN)
    for (let length = 0; length < encrypted.length; length++) {
      expect(() => decryptResponse(encrypted.subarray(0, length), TOKEN)).toThrow()
    }
    expect(() => decryptResponse(Buffer.concat([encrypted, Buffer.alloc(1)]), TOKEN)).toThrow()
  })

  test('differs at each encryption of the same response', () => {
    const all = Array.from({ length: 200 }, () => encryptResponse(response, TOKEN))
    const nonces = new Set(all.map((encrypted) => encrypted.subarray(0, 12).toString('hex')))
    const texts = new Set(all.map((encrypted) => encrypted.subarray(28).toString('hex')))
    expect([nonces.size, texts.size]).toEqual([200, 200])
  })

  test('contains no part of its text', () => {
    const encrypted = encryptResponse(response, TOKEN).toString('latin1')
    for (const part of ['vk_at_', 'vk_rt_', 'files', '2026', 'accessToken', TOKEN])
      expect(encrypted).not.toContain(part)
  })
})
