import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { readHandoffKeys } from '../src/handoff-settings.js'

const es256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ed25519 = generateKeyPairSync('ed25519')
const publicJwk = ({ publicKey }: typeof es256) => publicKey.export({ format: 'jwk' })
const read = (...keys: object[]) => readHandoffKeys(JSON.stringify({ keys }))

describe('LOGIN_HANDOFF_KEYS', () => {
  test('accepts several keys, for rotation', () => {
    const keys = [publicJwk(es256), { ...publicJwk(ed25519), kid: 'new', alg: 'EdDSA', use: 'sig' }]
    expect(read(...keys)).toEqual({ keys })
  })

  test.each([
    { name: 'no JSON', text: 'keys', problem: 'is not a JWK set' },
    { name: 'one key and no set', text: JSON.stringify(publicJwk(es256)), problem: 'is not a JWK set' },
    { name: 'an empty set', text: '{"keys":[]}', problem: 'is not a JWK set' }
  ])('reports $name', ({ text, problem }) => {
    expect(readHandoffKeys(text)).toEqual({ problem: expect.stringContaining(problem) })
  })

  test.each([
    { name: 'a private key', key: es256.privateKey.export({ format: 'jwk' }), problem: 'private key' },
    {
      name: 'an RSA key',
      key: generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' }),
      problem: 'neither'
    },
    { name: 'another curve', key: { kty: 'OKP', crv: 'Ed448', x: 'AA' }, problem: 'neither' },
    { name: 'a point that is not on the curve', key: { ...publicJwk(es256), x: 'AAAA' }, problem: 'cannot be read' }
  ])('reports $name', ({ key, problem }) => {
    expect(read(key)).toEqual({ problem: expect.stringContaining(problem) })
  })
})
