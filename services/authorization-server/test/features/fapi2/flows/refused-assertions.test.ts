import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import { exportPKCS8, importPKCS8 } from 'jose'
import { ISSUER, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { auditOf } from '../../../support/codes.js'
import { expectRefusal } from '../../../support/refusals.js'
import { assertionForm, createSigningKey, type SigningKey } from '../../client-keys/support/assertions.js'
import { createProver, type Prover } from '../../dpop/support/proofs.js'
import { PUSHED_PATH } from '../../pushed-requests/support/pushed-requests.js'
import { createProfiledClient, type Form, type ProfiledClient, type Sent } from '../support/profiled-client.js'

let server: TestServer
let key: SigningKey
let otherKey: SigningKey
let rsaKey: SigningKey
let prover: Prover
let client: ProfiledClient

beforeAll(async () => {
  server = await startTestServer({ DPOP: 'allowed', LIMITS_FACTOR: '100' })
  await server.createResourceServer(undefined, { dpop: 'allowed' })
  ;[key, otherKey, rsaKey] = [await createSigningKey(), await createSigningKey(), await createSigningKey('RS256')]
  prover = await createProver()
  client = await createProfiledClient(server, { key, prover })
})
afterAll(() => server.close())

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds

type Request = { form?: Form; sent?: Sent }

const claims = (payload: () => Record<string, unknown>) => async (): Promise<Request> => ({
  sent: { assertion: { payload: payload() } }
})
const header = (members: Record<string, unknown>) => async (): Promise<Request> => ({
  sent: { assertion: { header: members } }
})
const text = (change: (jws: string) => string) => async (): Promise<Request> => {
  const { client_assertion: jws = '' } = await assertionForm(key, client.clientId)
  return { form: { client_assertion: change(jws) } }
}
const form = (change: Form) => async (): Promise<Request> => ({ form: change })

/** The same assertion with other members in its header, and so with a wrong signature. */
const forged = (members: Record<string, unknown>) =>
  text((jws) => {
    const [first = '', ...rest] = jws.split('.')
    const changed = { ...JSON.parse(Buffer.from(first, 'base64url').toString()), ...members }
    return [Buffer.from(JSON.stringify(changed)).toString('base64url'), ...rest].join('.')
  })

const signedBy = (signer: () => SigningKey, kid: () => string) => async (): Promise<Request> => {
  const forged = { ...signer(), jwk: { ...signer().jwk, kid: kid() } }
  return { form: await assertionForm(forged, client.clientId) }
}

const ENDPOINTS: readonly { endpoint: string; send: (request: Request) => Promise<LightMyRequestResponse> }[] = [
  { endpoint: '/token', send: (request) => client.exchange('x', request.form, request.sent) },
  { endpoint: PUSHED_PATH, send: (request) => client.push(request.form, request.sent) },
  { endpoint: '/oauth/revoke', send: (request) => client.revoke('x', request.form, request.sent) }
]

describe.each(ENDPOINTS)('$endpoint refuses a client under fapi2', ({ send }) => {
  test.each<{ name: string; request: () => Promise<Request>; reason: string }>([
    { name: 'with two parts', request: text((jws) => jws.replace(/\.[^.]*$/, '')), reason: 'assertion_malformed' },
    { name: 'with padding', request: text((jws) => `${jws}=`), reason: 'assertion_malformed' },
    {
      name: 'of more than 4,096 characters',
      request: claims(() => ({ long: 'x'.repeat(4_096) })),
      reason: 'assertion_malformed'
    },
    { name: 'with alg none', request: forged({ alg: 'none' }), reason: 'assertion_algorithm' },
    { name: 'with alg HS256', request: forged({ alg: 'HS256' }), reason: 'assertion_algorithm' },
    { name: 'with alg RS256', request: forged({ alg: 'RS256' }), reason: 'assertion_algorithm' },
    { name: 'with crit', request: forged({ crit: ['exp'], exp: 1 }), reason: 'assertion_critical_header' },
    { name: 'with the typ of a proof', request: header({ typ: 'dpop+jwt' }), reason: 'assertion_typ' },
    { name: 'without iss', request: claims(() => ({ iss: undefined })), reason: 'assertion_issuer' },
    { name: 'with another sub', request: claims(() => ({ sub: 'other' })), reason: 'assertion_subject' },
    { name: 'beside another client_id', request: form({ client_id: 'other' }), reason: 'assertion_other_client' },
    { name: 'with a list of the issuer', request: claims(() => ({ aud: [ISSUER] })), reason: 'assertion_audience' },
    {
      name: 'with a list of two audiences',
      request: claims(() => ({ aud: [ISSUER, 'https://other.example'] })),
      reason: 'assertion_audience'
    },
    { name: 'for /token', request: claims(() => ({ aud: `${ISSUER}/token` })), reason: 'assertion_audience' },
    {
      name: 'for the endpoint of pushes',
      request: claims(() => ({ aud: `${ISSUER}${PUSHED_PATH}` })),
      reason: 'assertion_audience'
    },
    { name: 'for another server', request: claims(() => ({ aud: 'https://o.example' })), reason: 'assertion_audience' },
    { name: 'without audience', request: claims(() => ({ aud: undefined })), reason: 'assertion_audience' },
    { name: 'without exp', request: claims(() => ({ exp: undefined })), reason: 'assertion_expired' },
    { name: 'that expired', request: claims(() => ({ exp: inSeconds(-40) })), reason: 'assertion_expired' },
    {
      name: 'that lives two hours',
      request: claims(() => ({ exp: inSeconds(7_200) })),
      reason: 'assertion_lives_too_long'
    },
    {
      name: 'with iat in more than 60 seconds',
      request: claims(() => ({ iat: inSeconds(62) })),
      reason: 'assertion_not_yet_valid'
    },
    {
      name: 'with nbf in more than 60 seconds',
      request: claims(() => ({ nbf: inSeconds(62) })),
      reason: 'assertion_not_yet_valid'
    },
    { name: 'without jti', request: claims(() => ({ jti: undefined })), reason: 'assertion_jti' },
    { name: 'with an empty jti', request: claims(() => ({ jti: '' })), reason: 'assertion_jti' },
    { name: 'with a long jti', request: claims(() => ({ jti: 'x'.repeat(257) })), reason: 'assertion_jti' },
    { name: 'with an unknown kid', request: header({ kid: 'unknown' }), reason: 'assertion_unknown_key' },
    {
      name: 'that another key signed',
      request: signedBy(
        () => otherKey,
        () => key.jwk.kid
      ),
      reason: 'assertion_signature'
    }
  ])('whose assertion is one $name', async ({ request, reason }) => {
    const refused = await send(await request())
    expectRefusal(refused, 401, 'invalid_client')
    expect(await auditOf(server, refused)).toEqual([{ event: 'request_refused', reason }])
  })

  test('that sends an assertion again', async () => {
    const payload = { jti: randomUUID() }
    expect((await client.push({}, { assertion: { payload } })).statusCode).toBe(201)
    const refused = await send({ sent: { assertion: { payload } } })
    expectRefusal(refused, 401, 'invalid_client')
    expect(await auditOf(server, refused)).toEqual([{ event: 'request_refused', reason: 'assertion_used' }])
  })

  test.each<{ name: string; form: Form }>([
    { name: 'its id alone', form: { client_assertion: undefined, client_assertion_type: undefined } },
    { name: 'a secret', form: { client_assertion: undefined, client_assertion_type: undefined, client_secret: 'x' } }
  ])('that sends $name', async ({ form: change }) => {
    expectRefusal(await send({ form: { client_id: client.clientId, ...change } }), 401, 'invalid_client')
  })

  test.each<{ name: string; request: Request }>([
    { name: 'another type of assertion', request: { form: { client_assertion_type: 'urn:other' } } },
    { name: 'no type of assertion', request: { form: { client_assertion_type: undefined } } },
    { name: 'a type without an assertion', request: { form: { client_assertion: undefined } } },
    { name: 'a secret beside the assertion', request: { form: { client_secret: 'x' } } },
    { name: 'a header beside the assertion', request: { sent: { headers: { authorization: 'Basic eDp4' } } } }
  ])('that sends $name', async ({ request }) => {
    expectRefusal(await send(request), 400, 'invalid_request')
  })
})

test('a client under fapi2 with an RSA key may sign with PS256, and not with RS256', async () => {
  const privateKey = await importPKCS8(await exportPKCS8(rsaKey.privateKey), 'PS256')
  const own = await createProfiledClient(server, { key: { ...rsaKey, algorithm: 'PS256', privateKey }, prover })
  const refused = await own.push(await assertionForm(rsaKey, own.clientId))
  expectRefusal(refused, 401, 'invalid_client')
  expect(await auditOf(server, refused)).toEqual([{ event: 'request_refused', reason: 'assertion_algorithm' }])
  expect((await own.push()).statusCode).toBe(201)
})

test.each(['ES256', 'PS256', 'EdDSA', 'Ed25519'])(
  'a client under fapi2 may sign assertions with %s',
  async (algorithm) => {
    const own = await createProfiledClient(server, { key: await createSigningKey(algorithm), prover })
    expect((await own.push()).statusCode).toBe(201)
  }
)

test.each(['iat', 'nbf'])('a client under fapi2 may have a clock that is 10 seconds ahead (%s)', async (claim) => {
  const assertion = { payload: { [claim]: inSeconds(10) } }
  expect((await client.push({}, { assertion })).statusCode).toBe(201)
})
