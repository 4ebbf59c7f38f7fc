import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { auditOf, PKCE } from '../../../support/codes.js'
import { basic, PASSWORD, post, responseParameters } from '../../../support/flow.js'
import { signedInBrowser } from '../../../support/pages.js'
import { expectRefusal } from '../../../support/refusals.js'
import { pairOf } from '../../../support/tokens.js'
import { createProver, exchangeForm, type Prover, postWithProof } from '../../dpop/support/proofs.js'
import { PUSHED_PATH, pushedUrl, requestOf } from '../support/pushed-requests.js'

const TARGET = `${ISSUER}${PUSHED_PATH}`

let server: TestServer
let client: Credentials
let key: Prover
let other: Prover

beforeAll(async () => {
  key = await createProver()
  other = await createProver()
  ;({ server, client } = await start('allowed'))
})
afterAll(() => server.close())

async function start(dpop: string): Promise<{ server: TestServer; client: Credentials }> {
  const server = await startTestServer({ DPOP: dpop })
  await server.createUser('alice', PASSWORD)
  await server.createResourceServer(undefined, { dpop: 'allowed' })
  return { server, client: await server.createClient() }
}

type Sent = { dpopJkt?: string | undefined; proof?: string | undefined }

function pushTo(at: TestServer, by: Credentials, { dpopJkt, proof }: Sent): Promise<LightMyRequestResponse> {
  const headers = { ...basic(by), ...(proof !== undefined && { dpop: proof }) }
  return post(at, PUSHED_PATH, requestOf(by, { ...PKCE, dpop_jkt: dpopJkt }), headers)
}

const push = (sent: Sent) => pushTo(server, client, sent)
const proofOf = (prover: Prover, payload: Record<string, unknown> = {}) =>
  prover.prove({ payload: { htu: TARGET, ...payload } })

/** Opens the pushed request in a browser, and allows it. */
async function codeOf(at: TestServer, by: Credentials, answer: LightMyRequestResponse): Promise<string> {
  expect(answer.statusCode).toBe(201)
  const browser = await signedInBrowser(at)
  const consent = await browser.open(pushedUrl(by, answer.json().request_uri))
  return responseParameters(await browser.submitOnly(consent, { decision: 'allow' })).code ?? ''
}

describe('a pushed request binds its code to the key (RFC 9449 §10.1)', () => {
  test.each<{ name: string; send: () => Promise<LightMyRequestResponse> }>([
    { name: 'of its proof', send: async () => push({ proof: await proofOf(key) }) },
    { name: 'of dpop_jkt', send: () => push({ dpopJkt: key.jkt }) },
    { name: 'of both', send: async () => push({ dpopJkt: key.jkt, proof: await proofOf(key) }) },
    {
      name: 'of its proof beside an empty dpop_jkt',
      send: async () => push({ dpopJkt: '', proof: await proofOf(key) })
    }
  ])('$name: other keys are refused at the exchange', async ({ send }) => {
    const form = exchangeForm(client, await codeOf(server, client, await send()))
    for (const wrong of [other, undefined]) {
      const refused = await postWithProof(server, form, wrong)
      expectRefusal(refused, 400, 'invalid_grant')
      expect(await auditOf(server, refused)).toEqual([{ event: 'request_refused', reason: 'wrong_dpop_jkt' }])
    }
    expect(pairOf(await postWithProof(server, form, key)).token_type).toBe('DPoP')
  })

  test('and to none without a proof and dpop_jkt', async () => {
    const form = exchangeForm(client, await codeOf(server, client, await push({})))
    expect(pairOf(await postWithProof(server, form, other)).token_type).toBe('DPoP')
  })

  test('of the proof of a public client', async () => {
    const { clientId } = await server.createClient({ type: 'public', requiresPkce: true })
    const app = { clientId, clientSecret: '' }
    const answer = await post(server, PUSHED_PATH, requestOf(app, PKCE), { dpop: await proofOf(key) })
    const form = exchangeForm(app, await codeOf(server, app, answer))
    expectRefusal(await postWithProof(server, form, other), 400, 'invalid_grant')
    pairOf(await postWithProof(server, form, key))
  })
})

describe('the endpoint refuses', () => {
  test.each<{ name: string; dpopJkt: () => string }>([
    { name: 'the key of another proof', dpopJkt: () => other.jkt },
    { name: 'a text that is no thumbprint', dpopJkt: () => 'x' },
    { name: 'the thumbprint in lower case', dpopJkt: () => key.jkt.toLowerCase() },
    { name: 'a control character', dpopJkt: () => `${key.jkt}\n` }
  ])('a proof beside dpop_jkt with $name, and stores nothing', async ({ dpopJkt }) => {
    const before = await server.redis.keys('vk:par:*')
    expectRefusal(await push({ dpopJkt: dpopJkt(), proof: await proofOf(key) }), 400, 'invalid_request')
    expect(await server.redis.keys('vk:par:*')).toHaveLength(before.length)
  })

  test('a proof beside two dpop_jkt, even if both are its key', async () => {
    const form = new URLSearchParams({ ...requestOf(client, PKCE), dpop_jkt: key.jkt })
    const answer = await server.publicServer.inject({
      method: 'POST',
      url: PUSHED_PATH,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...basic(client),
        dpop: await proofOf(key)
      },
      payload: `${form}&dpop_jkt=${key.jkt}`
    })
    expectRefusal(answer, 400, 'invalid_request')
  })

  test.each<{ name: string; proof: () => Promise<string> }>([
    { name: 'for the token endpoint', proof: () => key.prove() },
    { name: 'for another method', proof: () => proofOf(key, { htm: 'GET' }) },
    { name: 'of ten minutes ago', proof: () => proofOf(key, { iat: Math.floor(Date.now() / 1_000) - 600 }) },
    {
      name: 'with the key of another',
      proof: () => key.prove({ payload: { htu: TARGET }, header: { jwk: other.jwk } })
    },
    { name: 'that is empty', proof: async () => '' },
    { name: 'that is no JWT', proof: async () => 'proof' }
  ])('a proof $name: 400 invalid_dpop_proof', async ({ proof }) => {
    const refused = await push({ dpopJkt: key.jkt, proof: await proof() })
    expectRefusal(refused, 400, 'invalid_dpop_proof')
    expect(await auditOf(server, refused)).toEqual([{ event: 'request_refused', reason: 'invalid_dpop_proof' }])
  })

  test('a client that fails its authentication, and says nothing about the proof', async () => {
    const refused = await pushTo(server, { ...client, clientSecret: 'wrong' }, { proof: 'no proof' })
    expectRefusal(refused, 401, 'invalid_client')
  })
})

test('a proof of the push is no proof of the exchange', async () => {
  const proof = await proofOf(key)
  const form = exchangeForm(client, await codeOf(server, client, await push({ proof })))
  expectRefusal(await postWithProof(server, form, proof), 400, 'invalid_dpop_proof')
})

test('a client whose tokens must be bound may push without a proof, and sends it at the exchange', async () => {
  const bound = await server.createClient({ dpopBound: true })
  const form = exchangeForm(bound, await codeOf(server, bound, await pushTo(server, bound, {})))
  expectRefusal(await postWithProof(server, form, undefined), 400, 'invalid_request')
  pairOf(await postWithProof(server, form, key))
})

test('with DPOP=required a push needs no proof, and one binds the code', async () => {
  const { server: strict, client: own } = await start('required')
  try {
    await codeOf(strict, own, await pushTo(strict, own, {}))
    const form = exchangeForm(own, await codeOf(strict, own, await pushTo(strict, own, { proof: await proofOf(key) })))
    expectRefusal(await postWithProof(strict, form, other), 400, 'invalid_grant')
    pairOf(await postWithProof(strict, form, key))
  } finally {
    await strict.close()
  }
})

test('with DPOP=off neither the header nor dpop_jkt is read', async () => {
  const { server: plain, client: own } = await start('off')
  try {
    for (const proof of ['no proof', await proofOf(key)]) {
      const answer = await pushTo(plain, own, { dpopJkt: 'no thumbprint', proof })
      const form = exchangeForm(own, await codeOf(plain, own, answer))
      expect(pairOf(await postWithProof(plain, form, undefined)).token_type).toBe('Bearer')
    }
  } finally {
    await plain.close()
  }
})
