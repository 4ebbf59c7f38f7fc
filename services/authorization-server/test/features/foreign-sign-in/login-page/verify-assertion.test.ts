import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { CompactSign, UnsecuredJWT } from 'jose'
import { verifyAssertion } from '../../../../src/features/foreign-sign-in/login-page/verify-assertion.js'
import { ISSUER } from '../../../support/authorization-server.js'
import { ed25519, es256, LOGIN_ISSUER, signAssertion } from '../../../support/handoff.js'

const jwkOf = ({ publicKey }: { publicKey: KeyObject }) => publicKey.export({ format: 'jwk' })
const keys = [jwkOf(generateKeyPairSync('ec', { namedCurve: 'P-256' })), jwkOf(es256), jwkOf(ed25519)]
const verify = (assertion: string) => verifyAssertion(assertion, { issuer: LOGIN_ISSUER, keys }, ISSUER, new Date())

test.each([
  { alg: 'ES256', key: es256.privateKey },
  { alg: 'EdDSA', key: ed25519.privateKey }
])('an assertion that one of several keys signed with $alg is accepted', async ({ alg, key }) => {
  const outcome = await verify(await signAssertion({ nonce: 'n' }, { alg, key }))
  expect(outcome).toMatchObject({ kind: 'accepted', claims: { subject: 'person-1', nonce: 'n' } })
})

const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const signed = () => signAssertion({ nonce: 'n' })

test.each<{ name: string; make: () => Promise<string>; reason: string }>([
  { name: 'another key', make: () => signAssertion({ nonce: 'n' }, { key: other }), reason: 'wrong_signature' },
  {
    name: 'HMAC with the public key as secret',
    make: async () =>
      signAssertion({ nonce: 'n' }, { alg: 'HS256', key: Buffer.from(JSON.stringify(jwkOf(es256))) as never }),
    reason: 'wrong_signature'
  },
  {
    name: 'alg none',
    make: async () => new UnsecuredJWT({ iss: LOGIN_ISSUER, sub: 'person-1' }).encode(),
    reason: 'wrong_typ'
  },
  { name: 'another typ', make: () => signAssertion({ nonce: 'n' }, { header: { typ: 'JWT' } }), reason: 'wrong_typ' },
  {
    name: 'an edited payload',
    make: async () => {
      const [header, , signature] = (await signed()).split('.')
      const payload = Buffer.from(JSON.stringify({ sub: 'admin' })).toString('base64url')
      return [header, payload, signature].join('.')
    },
    reason: 'wrong_signature'
  },
  { name: 'over 2048 characters', make: () => signAssertion({ name: 'n'.repeat(2048) }), reason: 'too_long' },
  { name: 'no JWT', make: async () => 'abc', reason: 'malformed' },
  { name: 'nothing', make: async () => '', reason: 'malformed' },
  {
    name: 'a payload that is no object',
    make: () =>
      new CompactSign(Buffer.from('[]'))
        .setProtectedHeader({ alg: 'ES256', typ: 'valetkey-login+jwt' })
        .sign(es256.privateKey),
    reason: 'malformed'
  },
  {
    name: 'an extension that must be understood (RFC 7515 4.1.11)',
    make: async () => {
      const header = Buffer.from('{"alg":"ES256","typ":"valetkey-login+jwt","crit":["x"],"x":1}').toString('base64url')
      return [header, ...(await signed()).split('.').slice(1)].join('.')
    },
    reason: 'wrong_signature'
  }
])('an assertion is refused: $name', async ({ make, reason }) => {
  expect(await verify(await make())).toEqual({ kind: 'refused', reason })
})
