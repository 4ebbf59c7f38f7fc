import { describe, expect, test } from '@jest/globals'
import { readImportedLine } from '../../../src/features/token-import/read-imported-line.js'

const NOW = new Date('2026-11-28T10:00:00Z')
const API = 'https://api.example'
const HEX = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const TOKEN = {
  refresh_token_sha256: HEX,
  client_id: 'printer',
  user: 'Alice',
  scope: 'files.read',
  expires_at: '2026-12-01T00:00:00Z'
}
const CONSENT = { consent: true, client_id: 'printer', user: 'Alice', scope: 'files.read' }

const read = (line: object | string) =>
  readImportedLine(typeof line === 'string' ? line : JSON.stringify(line), API, NOW)

describe('a line of an import', () => {
  test('of a token has its hash, client, user, scope, API and times', () => {
    const line = { ...TOKEN, audience: 'https://other.example', created_at: '2026-11-01T12:00:00.5+02:00' }
    expect(read(line)).toEqual({
      kind: 'token',
      hash: Buffer.from(HEX, 'hex'),
      clientId: 'printer',
      userId: undefined,
      userName: 'alice',
      scope: ['files.read'],
      audience: 'https://other.example',
      createdAt: new Date('2026-11-01T10:00:00.500Z'),
      expiresAt: new Date('2026-12-01T00:00:00Z')
    })
  })

  test('without audience and created_at has the default API and the present time', () => {
    expect(read(TOKEN)).toMatchObject({ audience: API, createdAt: NOW })
  })

  test('of a consent has no hash; its end may be missing', () => {
    expect(read(CONSENT)).toMatchObject({ kind: 'consent', clientId: 'printer', expiresAt: undefined })
    expect(read({ ...CONSENT, expires_at: '2027-01-01T00:00:00Z' })).toMatchObject({
      expiresAt: new Date('2027-01-01T00:00:00Z')
    })
  })

  test.each([
    ['hexadecimal in upper case', HEX.toUpperCase()],
    ['base64url', Buffer.from(HEX, 'hex').toString('base64url')],
    ['base64url with padding', `${Buffer.from(HEX, 'hex').toString('base64url')}=`]
  ])('may have the hash in %s', (_name, hash) => {
    expect(read({ ...TOKEN, refresh_token_sha256: hash })).toMatchObject({ hash: Buffer.from(HEX, 'hex') })
  })

  test.each([
    ['a list of scopes, with one twice', { scope: ['a', 'b', 'a'] }, { scope: ['a', 'b'] }],
    ['several spaces', { scope: ' a  b ' }, { scope: ['a', 'b'] }],
    [
      'the id of a user',
      { user: '6F0E4A3C-9D51-4C53-9A3B-0D9F4F1B7C22' },
      { userId: '6f0e4a3c-9d51-4c53-9a3b-0d9f4f1b7c22' }
    ],
    [
      'a time as Postgres writes it',
      { expires_at: '2026-12-01 00:00:00.25+02' },
      { expiresAt: new Date('2026-11-30T22:00:00.250Z') }
    ],
    ['the time of a null', { created_at: null, audience: null }, { createdAt: NOW, audience: API }]
  ])('may have %s', (_name, change, expected) => {
    expect(read({ ...TOKEN, ...change })).toMatchObject(expected)
  })

  test.each([
    ['no JSON', '{"refresh_token_sha256":"', 'is not a JSON object'],
    ['a list', '[]', 'is not a JSON object'],
    ['an unknown member', { ...TOKEN, refresh_token: 'secret' }, '"refresh_token" is not a member'],
    ['no hash', { ...TOKEN, refresh_token_sha256: undefined }, 'refresh_token_sha256 is missing'],
    ['a short hash', { ...TOKEN, refresh_token_sha256: HEX.slice(2) }, 'is no SHA-256'],
    ['no client', { ...TOKEN, client_id: '' }, 'client_id is missing'],
    ['a user that is a number', { ...TOKEN, user: 7 }, 'user is missing or not a text'],
    ['a scope that is a number', { ...TOKEN, scope: [7] }, 'scope is neither'],
    ['no end', { ...TOKEN, expires_at: undefined }, 'expires_at is missing'],
    ['an end that is over', { ...TOKEN, expires_at: '2026-11-28T10:00:00Z' }, 'it has expired'],
    ['an end without a time zone', { ...TOKEN, expires_at: '2026-12-01T00:00:00' }, 'expires_at is no time'],
    ['an end after 400 days', { ...TOKEN, expires_at: '2028-01-03T00:00:00Z' }, 'more than 400 days away'],
    ['a time that does not exist', { ...TOKEN, created_at: '2026-13-01T00:00:00Z' }, 'created_at is no time'],
    ['a consent that is false', { ...CONSENT, consent: false }, 'consent is not true'],
    ['a token and a consent', { ...TOKEN, consent: true }, 'either refresh_token_sha256 or consent']
  ])('with %s is refused', (_name, line, message) => {
    expect(() => read(line)).toThrow(message)
  })

  test('that is refused does not appear in the message', () => {
    expect(() => read(`{"refresh_token_sha256":"${HEX}`)).toThrow(/^is not a JSON object$/)
  })
})
