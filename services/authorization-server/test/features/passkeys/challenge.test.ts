import { expect, test } from '@jest/globals'
import { type ChallengeOwner, challengeState, createChallenge } from '../../../src/features/passkeys/challenge.js'

const KEYS = ['a-key-of-at-least-thirty-two-characters']
const OWNER: ChallengeOwner = { purpose: 'sign_in', browserId: 'browser', sessionHash: undefined }
const NOW = new Date('2026-01-01T12:00:00Z')
const after = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)
const made = (owner = OWNER, keys = KEYS) => createChallenge(keys, owner, NOW).toString('base64url')

test('a challenge is accepted for its owner, also after a rotation of keys, and is another one each time', () => {
  expect(challengeState(made(), KEYS, OWNER, NOW)).toBe('valid')
  expect(challengeState(made(), ['a-new-key-of-at-least-thirty-two-chars', ...KEYS], OWNER, NOW)).toBe('valid')
  expect(made()).not.toBe(made())
})

test.each([
  { name: 'another browser', owner: { ...OWNER, browserId: 'other' } },
  { name: 'another session', owner: { ...OWNER, sessionHash: 'session' } },
  { name: 'another purpose', owner: { ...OWNER, purpose: 'add' } as const }
])('the challenge of $name is refused', ({ owner }) => {
  expect(challengeState(made(owner), KEYS, OWNER, NOW)).toBe('invalid')
})

test('the challenge of another browser is invalid and not expired, however old it is', () => {
  expect(challengeState(made({ ...OWNER, browserId: 'other' }), KEYS, OWNER, after(600))).toBe('invalid')
})

test.each([
  { seconds: 299, state: 'valid' },
  { seconds: 300, state: 'expired' },
  { seconds: -60, state: 'valid' },
  { seconds: -61, state: 'invalid' }
])('a challenge lives five minutes, and the clocks of two processes may differ: $seconds s', ({ seconds, state }) => {
  expect(challengeState(made(), KEYS, OWNER, after(seconds))).toBe(state)
})

test.each([
  { name: 'of another key', value: made(OWNER, ['another-key-of-at-least-thirty-two-chars']) },
  { name: 'with an edited time', value: edited(20) },
  { name: 'with an edited nonce', value: edited(0) },
  { name: 'cut off', value: made().slice(0, -2) },
  { name: 'empty', value: '' },
  { name: 'long', value: 'A'.repeat(10_000) }
])('a challenge $name is refused', ({ value }) => {
  expect(challengeState(value, KEYS, OWNER, NOW)).toBe('invalid')
})

function edited(index: number): string {
  const bytes = Buffer.from(made(), 'base64url')
  bytes.writeUInt8(bytes.readUInt8(index) ^ 1, index)
  return bytes.toString('base64url')
}

// Values of an earlier version: a page that is open during an upgrade can still be answered.
test.each([
  { key: 'new', value: 'y1a1MJ7d68EHsQYHze0tYgGhkulis1OzsqChr-0cjyIuwbnHOSFM3YeMkbOvfPPAxDvGJNzV', purpose: 'sign_in' },
  { key: 'new', value: 'aAZWByEosHhrMBDCb9zB0wGhkulis9bYZaL65-29rx4AKlX_GJu1hCEVnUhbvVz6IMNB0AzY', purpose: 'add' },
  { key: 'old', value: '6-Sr5HbmYk_3foZw5t0ydgGhkulis5UzKIDlG-7AAYGazMVSwiQXMS3eAxgIi_sfVgLvHFHN', purpose: 'sign_in' },
  { key: 'old', value: 'LQBKNcU7fyz6xaNGNw5T4gGhkulis6Wa9wZ06wIBBkN4fnfXZvHyWBCTycCKHQutCHxJCRn8', purpose: 'add' }
] as const)(
  'passkey challenge: accepts one of an earlier version, $purpose with the $key key',
  ({ value, purpose }) => {
    const keys = ['a new key of at least thirty-two characters!', 'an old key of at least thirty-two characters']
    const sessionHash = purpose === 'add' ? 'session-hash' : undefined
    const at = new Date('2026-10-31T17:02:12.123Z')
    expect(challengeState(value, keys, { purpose, browserId: 'browser-1', sessionHash }, at)).toBe('valid')
    expect(challengeState(value, keys, { purpose, browserId: 'browser-2', sessionHash }, at)).toBe('invalid')
  }
)
