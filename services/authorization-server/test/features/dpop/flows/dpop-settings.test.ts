import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { PASSWORD } from '../../../support/flow.js'
import { expectRefusal } from '../../../support/refusals.js'
import { pairOf } from '../../../support/tokens.js'
import { codeOf, createProver, exchangeForm, type Prover, postWithProof, refreshForm } from '../support/proofs.js'

const METADATA = '/.well-known/oauth-authorization-server'

let key: Prover

beforeAll(async () => {
  key = await createProver()
})

async function start(dpop: 'off' | 'required'): Promise<{ server: TestServer; client: Credentials }> {
  const server = await startTestServer({ DPOP: dpop })
  await server.createUser('alice', PASSWORD)
  await server.createResourceServer(undefined, { dpop: 'allowed' })
  return { server, client: await server.createClient() }
}

describe('a server with DPOP=off', () => {
  let server: TestServer
  let client: Credentials

  beforeAll(async () => {
    ;({ server, client } = await start('off'))
  })
  afterAll(() => server.close())

  test('announces no algorithms', async () => {
    const { body } = await server.publicServer.inject(METADATA)
    expect(JSON.parse(body)).not.toHaveProperty('dpop_signing_alg_values_supported')
  })

  test.each([
    { name: 'a proof', proof: () => key.prove() },
    { name: 'a header that is no proof', proof: async () => 'no proof' }
  ])('reads neither dpop_jkt nor $name: the tokens are bearer tokens', async ({ proof }) => {
    const code = await codeOf(server, client, server.newBrowser(), 'not a thumbprint')
    const tokens = pairOf(await postWithProof(server, exchangeForm(client, code), await proof()))
    expect(tokens.token_type).toBe('Bearer')
    const refreshed = pairOf(await postWithProof(server, refreshForm(client, tokens.refresh_token), await proof()))
    expect(refreshed.token_type).toBe('Bearer')
  })
})

describe('a server with DPOP=required', () => {
  let server: TestServer
  let client: Credentials

  beforeAll(async () => {
    ;({ server, client } = await start('required'))
  })
  afterAll(() => server.close())

  test('announces its algorithms in order of preference (RFC 9449 §5.1)', async () => {
    const { body } = await server.publicServer.inject(METADATA)
    const { dpop_signing_alg_values_supported: algorithms } = JSON.parse(body)
    expect(algorithms).toEqual(['ES256', 'PS256', 'EdDSA', 'Ed25519'])
  })

  test('refuses a token request without a proof, and the code can still be exchanged', async () => {
    const code = await codeOf(server, client, server.newBrowser())
    expectRefusal(await postWithProof(server, exchangeForm(client, code), undefined), 400, 'invalid_request')
    const tokens = pairOf(await postWithProof(server, exchangeForm(client, code), key))
    const refused = await postWithProof(server, refreshForm(client, tokens.refresh_token), undefined)
    expectRefusal(refused, 400, 'invalid_request')
    pairOf(await postWithProof(server, refreshForm(client, tokens.refresh_token), key))
  })
})
