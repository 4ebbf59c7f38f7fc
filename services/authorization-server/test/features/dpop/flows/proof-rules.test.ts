import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { auditOf } from '../../../support/codes.js'
import { overTheWire } from '../../../support/over-the-wire.js'
import { expectRefusal } from '../../../support/refusals.js'
import { createProver, type Prover, postWithProof, refreshForm } from '../support/proofs.js'

let server: TestServer
let client: Credentials
let key: Prover
let other: Prover

beforeAll(async () => {
  server = await startTestServer({ DPOP: 'allowed' })
  client = await server.createClient()
  key = await createProver()
  other = await createProver()
})
afterAll(() => server.close())

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds
/** A request that is refused for its token, if its proof is accepted. */
const send = (proof: string) => postWithProof(server, refreshForm(client, 'no token'), proof)

type Change = { header?: Record<string, unknown>; payload?: Record<string, unknown> }

describe('the token endpoint refuses a proof (RFC 9449 §4.3)', () => {
  test.each<{ name: string; change: () => Change; says: RegExp }>([
    { name: 'of the type JWT', change: () => ({ header: { typ: 'JWT' } }), says: /typ/ },
    { name: 'of the long form of the type', change: () => ({ header: { typ: 'application/dpop+jwt' } }), says: /typ/ },
    { name: 'without a type', change: () => ({ header: { typ: undefined } }), says: /typ/ },
    { name: 'without a key', change: () => ({ header: { jwk: undefined } }), says: /jwk/ },
    { name: 'with a private key', change: () => ({ header: { jwk: { ...key.jwk, d: 'AA' } } }), says: /jwk/ },
    { name: 'with the key of another', change: () => ({ header: { jwk: other.jwk } }), says: /signature/ },
    { name: 'without jti', change: () => ({ payload: { jti: undefined } }), says: /jti/ },
    { name: 'with an empty jti', change: () => ({ payload: { jti: '' } }), says: /jti/ },
    { name: 'with a jti of 257 characters', change: () => ({ payload: { jti: 'x'.repeat(257) } }), says: /jti/ },
    { name: 'for another method', change: () => ({ payload: { htm: 'GET' } }), says: /htm/ },
    { name: 'for the method in lower case', change: () => ({ payload: { htm: 'post' } }), says: /htm/ },
    { name: 'without a method', change: () => ({ payload: { htm: undefined } }), says: /htm/ },
    { name: 'for another path', change: () => ({ payload: { htu: `${ISSUER}/oauth/revoke` } }), says: /htu/ },
    { name: 'for another host', change: () => ({ payload: { htu: 'http://other.example/token' } }), says: /htu/ },
    { name: 'for another port', change: () => ({ payload: { htu: 'http://localhost:4001/token' } }), says: /htu/ },
    { name: 'for another scheme', change: () => ({ payload: { htu: 'https://localhost:4000/token' } }), says: /htu/ },
    { name: 'without a target', change: () => ({ payload: { htu: undefined } }), says: /htu/ },
    { name: 'of more than 5 minutes ago', change: () => ({ payload: { iat: inSeconds(-310) } }), says: /iat/ },
    { name: 'of more than 5 minutes ahead', change: () => ({ payload: { iat: inSeconds(310) } }), says: /iat/ },
    { name: 'without a time', change: () => ({ payload: { iat: undefined } }), says: /iat/ },
    { name: 'with a nonce that is no text', change: () => ({ payload: { nonce: 1 } }), says: /nonce/ }
  ])('$name', async ({ change, says }) => {
    const refused = await send(await key.prove(change()))
    expectRefusal(refused, 400, 'invalid_dpop_proof')
    expect(refused.json().error_description).toMatch(says)
    expect(await auditOf(server, refused)).toEqual([{ event: 'request_refused', reason: 'invalid_dpop_proof' }])
  })

  test.each([
    { name: 'that is empty', proof: async () => '' },
    { name: 'that is no JWT', proof: async () => 'proof' },
    { name: 'in a list of two', proof: async () => `${await key.prove()}, ${await key.prove()}` },
    { name: 'with a fourth part', proof: async () => `${await key.prove()}.e30` },
    { name: 'of more than 4,096 characters', proof: () => key.prove({ payload: { long: 'x'.repeat(4_096) } }) },
    {
      name: 'with a changed payload',
      proof: async () => {
        const [[header], [, payload], [, , signature]] = [
          (await key.prove()).split('.'),
          (await key.prove()).split('.'),
          (await key.prove()).split('.')
        ]
        return [header, payload, signature].join('.')
      }
    },
    { name: 'with alg none', proof: async () => withHeader(await key.prove(), { alg: 'none' }) },
    { name: 'with alg HS256', proof: async () => withHeader(await key.prove(), { alg: 'HS256' }) },
    { name: 'with crit', proof: async () => withHeader(await key.prove(), { crit: ['exp'], exp: 1 }) },
    { name: 'with RS256', proof: async () => (await createProver('RS256')).prove() }
  ])('$name', async ({ proof }) => {
    expectRefusal(await send(await proof()), 400, 'invalid_dpop_proof')
  })

  test('beside a second one', async () => {
    const post = await overTheWire(server.publicServer)
    const proofs = [await key.prove(), await key.prove()] as unknown as string
    const headers = { 'content-type': 'application/x-www-form-urlencoded', dpop: proofs }
    const body = new URLSearchParams(refreshForm(client, 'no token')).toString()
    const refused = await post('/token', { method: 'POST', headers, body })
    expect([refused.statusCode, JSON.parse(refused.body).error]).toEqual([400, 'invalid_dpop_proof'])
  })
})

/** The same JWS with other members in its header, and so with a wrong signature. */
function withHeader(proof: string, members: Record<string, unknown>): string {
  const [header = '', ...rest] = proof.split('.')
  const changed = { ...JSON.parse(Buffer.from(header, 'base64url').toString()), ...members }
  return [Buffer.from(JSON.stringify(changed)).toString('base64url'), ...rest].join('.')
}

describe('the token endpoint accepts a proof', () => {
  test.each<{ name: string; change: () => Change }>([
    { name: 'as libraries make it', change: () => ({}) },
    { name: 'with a query and a fragment in htu', change: () => ({ payload: { htu: `${ISSUER}/token?a=b#c` } }) },
    { name: 'with a host in upper case', change: () => ({ payload: { htu: 'http://LOCALHOST:4000/token' } }) },
    { name: 'with an encoded letter', change: () => ({ payload: { htu: `${ISSUER}/%74oken` } }) },
    { name: 'of almost 5 minutes ago', change: () => ({ payload: { iat: inSeconds(-290) } }) },
    { name: 'of almost 5 minutes ahead', change: () => ({ payload: { iat: inSeconds(290) } }) },
    { name: 'with a nonce that it did not ask for', change: () => ({ payload: { nonce: 'n' } }) },
    { name: 'with other members', change: () => ({ payload: { ath: 'x', exp: 1 }, header: { kid: 'k' } }) }
  ])('$name', async ({ change }) => {
    expectRefusal(await send(await key.prove(change())), 400, 'invalid_grant')
  })
})
