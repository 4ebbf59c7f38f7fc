import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Credentials, TestServer } from '../../../support/authorization-server.js'
import type { Browser } from '../../../support/browser.js'
import { auditOf, forgetInRedis, grantOf, PKCE, recordOf } from '../../../support/codes.js'
import { authorizeUrl, obtainCode, responseParameters } from '../../../support/flow.js'
import { expectRefusal } from '../../../support/refusals.js'
import { introspectionOf, isActive, pairOf } from '../../../support/tokens.js'
import { startBindingServer } from '../support/binding-server.js'
import { codeOf, createProver, exchangeForm, type Prover, postWithProof, refreshForm } from '../support/proofs.js'

const UNMARKED = 'https://unmarked.example'
const STRICT = 'https://strict.example'

let server: TestServer
let browser: Browser
let confidential: Credentials
let publicClient: Credentials
let api: Credentials
let key: Prover
let other: Prover

beforeAll(async () => {
  ;({ server, browser, api, confidential, publicClient, key, other } = await startBindingServer())
})
afterAll(() => server.close())

describe('an exchange with a proof', () => {
  test('returns a bound access token, which introspection names with its key (RFC 9449 §5, §6.2)', async () => {
    const code = await codeOf(server, confidential, browser)
    const tokens = pairOf(await postWithProof(server, exchangeForm(confidential, code), key))
    expect(tokens.token_type).toBe('DPoP')
    expect(await introspectionOf(server, api, tokens.access_token)).toMatchObject({
      active: true,
      token_type: 'DPoP',
      cnf: { jkt: key.jkt }
    })
  })

  test.each(['PS256', 'EdDSA', 'Ed25519'])('accepts the algorithm %s', async (algorithm) => {
    const prover = await createProver(algorithm)
    const code = await codeOf(server, publicClient, browser)
    const { token_type } = pairOf(await postWithProof(server, exchangeForm(publicClient, code), prover))
    expect(token_type).toBe('DPoP')
  })

  test('with a wrong proof is refused, and the code can still be exchanged', async () => {
    const code = await codeOf(server, confidential, browser)
    const proof = await key.prove({ payload: { htm: 'GET' } })
    const refused = await postWithProof(server, exchangeForm(confidential, code), proof)
    expectRefusal(refused, 400, 'invalid_dpop_proof')
    expect(await auditOf(server, refused)).toEqual([{ event: 'request_refused', reason: 'invalid_dpop_proof' }])
    pairOf(await postWithProof(server, exchangeForm(confidential, code), key))
  })

  test('of a client that fails its authentication says nothing about the proof', async () => {
    const refused = await postWithProof(server, exchangeForm({ ...confidential, clientSecret: 'no' }, 'x'), 'no proof')
    expectRefusal(refused, 401, 'invalid_client')
  })
})

test('an exchange without a proof returns a bearer token, whose introspection is as ever', async () => {
  const code = await codeOf(server, confidential, browser)
  const tokens = pairOf(await postWithProof(server, exchangeForm(confidential, code), undefined))
  expect(tokens.token_type).toBe('Bearer')
  const introspection = await introspectionOf(server, api, tokens.access_token)
  expect(introspection).toMatchObject({ active: true, token_type: 'Bearer' })
  expect(introspection).not.toHaveProperty('cnf')
})

describe('a code with dpop_jkt (RFC 9449 §10)', () => {
  let code: string

  beforeEach(async () => {
    code = await codeOf(server, confidential, browser, key.jkt)
  })

  test.each([
    { name: 'without a proof', by: () => undefined },
    { name: 'with a proof of another key', by: () => other }
  ])('is refused $name, and is not used up', async ({ by }) => {
    const refused = await postWithProof(server, exchangeForm(confidential, code), by())
    expectRefusal(refused, 400, 'invalid_grant')
    expect(await auditOf(server, refused)).toEqual([{ event: 'request_refused', reason: 'wrong_dpop_jkt' }])
    expect(await recordOf(server, code)).toMatch(/^issued /)
    const tokens = pairOf(await postWithProof(server, exchangeForm(confidential, code), key))
    expect(tokens.token_type).toBe('DPoP')
  })

  test.each([
    { name: 'with its record in Redis', forget: false },
    { name: 'without a record in Redis', forget: true }
  ])(
    'that was used: a replay without the key ends nothing, one with the key ends the grant, $name',
    async ({ forget }) => {
      const tokens = pairOf(await postWithProof(server, exchangeForm(confidential, code), key))
      if (forget) await forgetInRedis(server, code)
      for (const by of [undefined, other]) {
        const replay = await postWithProof(server, exchangeForm(confidential, code), by)
        expectRefusal(replay, 400, 'invalid_grant')
        expect((await auditOf(server, replay)).map(({ reason }) => reason)).toEqual(['code_used_and_wrong_dpop_jkt'])
      }
      expect(await isActive(server, api, tokens.access_token)).toBe(true)
      expectRefusal(await postWithProof(server, exchangeForm(confidential, code), key), 400, 'invalid_grant')
      expect(await isActive(server, api, tokens.access_token)).toBe(false)
    }
  )

  test('is exchanged once by ten requests at the same time, five of them with the key', async () => {
    const requests = Array.from({ length: 10 }, (_, index) =>
      postWithProof(server, exchangeForm(confidential, code), index % 2 === 0 ? key : other)
    )
    const statuses = (await Promise.all(requests)).map(({ statusCode }) => statusCode)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(await grantOf(server, code)).toMatchObject({ accessTokens: 1 })
  })

  test.each(['x', key43('!'), `${key43('a')}a`])('%s is an error of the authorization request', async (jkt) => {
    const page = await browser.open(authorizeUrl(confidential.clientId, { dpop_jkt: jkt }))
    expect(responseParameters(page)).toMatchObject({ error: 'invalid_request', state: 'a state' })
  })
})

function key43(character: string): string {
  return character.repeat(43)
}

describe('an API that checks no proofs', () => {
  beforeAll(async () => {
    await server.createResourceServer(UNMARKED)
    await server.createScope('notes.read', { audience: UNMARKED })
  })

  async function exchangeFor(client: Credentials) {
    const browser = server.newBrowser()
    const code = await obtainCode(server, client, { change: { ...PKCE, scope: 'notes.read' }, browser })
    return pairOf(await postWithProof(server, exchangeForm(client, code), key))
  }

  test('gets bearer tokens, and the refresh token of a public client is bound', async () => {
    const { clientId } = await server.createClient({
      type: 'public',
      requiresPkce: true,
      requiredScopes: ['notes.read']
    })
    const client = { clientId, clientSecret: '' }
    const tokens = await exchangeFor(client)
    expect(tokens.token_type).toBe('Bearer')
    const refused = await postWithProof(server, refreshForm(client, tokens.refresh_token), undefined)
    expectRefusal(refused, 400, 'invalid_dpop_proof')
    const next = pairOf(await postWithProof(server, refreshForm(client, tokens.refresh_token), key))
    expect(next.token_type).toBe('Bearer')
  })

  test('gets bearer tokens of a confidential client, whose refresh token is not bound', async () => {
    const client = await server.createClient({ requiredScopes: ['notes.read'] })
    const tokens = await exchangeFor(client)
    expect(tokens.token_type).toBe('Bearer')
    pairOf(await postWithProof(server, refreshForm(client, tokens.refresh_token), undefined))
  })
})

describe('an API that takes bound tokens only', () => {
  test('is refused an exchange without a proof, and the code can still be exchanged', async () => {
    await server.createResourceServer(STRICT, { dpop: 'required' })
    await server.createScope('mail.read', { audience: STRICT })
    const client = await server.createClient({ requiredScopes: ['mail.read'] })
    const code = await obtainCode(server, client, { change: { ...PKCE, scope: 'mail.read' } })
    expectRefusal(await postWithProof(server, exchangeForm(client, code), undefined), 400, 'invalid_request')
    expect(await recordOf(server, code)).toMatch(/^issued /)
    const tokens = pairOf(await postWithProof(server, exchangeForm(client, code), key))
    expect(tokens.token_type).toBe('DPoP')
    const refused = await postWithProof(server, refreshForm(client, tokens.refresh_token), undefined)
    expectRefusal(refused, 400, 'invalid_request')
    pairOf(await postWithProof(server, refreshForm(client, tokens.refresh_token), other))
  })
})

test('a client with dpop_bound_access_tokens is refused without a proof (RFC 9449 §5.2)', async () => {
  const client = await server.createClient({ dpopBound: true })
  const code = await codeOf(server, client, browser)
  expectRefusal(await postWithProof(server, exchangeForm(client, code), undefined), 400, 'invalid_request')
  pairOf(await postWithProof(server, exchangeForm(client, code), key))
})
