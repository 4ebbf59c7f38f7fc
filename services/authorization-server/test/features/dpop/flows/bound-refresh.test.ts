import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Credentials, TestServer } from '../../../support/authorization-server.js'
import type { Browser } from '../../../support/browser.js'
import { startInstance } from '../../../support/instance.js'
import { expectRefusal } from '../../../support/refusals.js'
import { introspectionOf, isActive, pairOf, type Tokens } from '../../../support/tokens.js'
import { startBindingServer } from '../support/binding-server.js'
import { codeOf, exchangeForm, type Prover, postWithProof, refreshForm } from '../support/proofs.js'

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

/** The tokens of a new code. @param by whose proof the exchange has */
async function tokensOf(client: Credentials, by: Prover | undefined): Promise<Tokens> {
  const code = await codeOf(server, client, browser)
  return pairOf(await postWithProof(server, exchangeForm(client, code), by))
}

const refreshBy = (client: Credentials, tokens: Tokens, by: Prover | undefined, on = server) =>
  postWithProof(on, refreshForm(client, tokens.refresh_token), by)

/** The key of the access token; undefined: a bearer token. */
async function keyOf(tokens: Tokens): Promise<string | undefined> {
  const introspection = await introspectionOf(server, api, tokens.access_token)
  if (!introspection.active) throw new Error('the token is not active')
  expect(tokens.token_type).toBe(introspection.token_type)
  return introspection.cnf?.jkt
}

describe('the refresh token of a public client (RFC 9449 §5)', () => {
  let first: Tokens

  beforeEach(async () => {
    first = await tokensOf(publicClient, key)
  })

  test('is rotated by a proof of its key, and so is its successor', async () => {
    const second = pairOf(await refreshBy(publicClient, first, key))
    const third = pairOf(await refreshBy(publicClient, second, key))
    expect([await keyOf(second), await keyOf(third)]).toEqual([key.jkt, key.jkt])
    expectRefusal(await refreshBy(publicClient, third, undefined), 400, 'invalid_dpop_proof')
  })

  test.each([
    { name: 'without a proof', by: () => undefined, error: 'invalid_dpop_proof' },
    { name: 'with a proof of another key', by: () => other, error: 'invalid_grant' }
  ])('is refused $name: it is not rotated, and the grant does not end', async ({ by, error }) => {
    expectRefusal(await refreshBy(publicClient, first, by()), 400, error)
    expect(await isActive(server, api, first.access_token)).toBe(true)
    pairOf(await refreshBy(publicClient, first, key))
  })

  test.each([
    { name: 'without a proof', by: () => undefined, error: 'invalid_dpop_proof' },
    { name: 'with a proof of another key', by: () => other, error: 'invalid_grant' }
  ])(
    'that was rotated and whose successor was used ends nothing $name, and the grant with its key',
    async ({ by, error }) => {
      const second = pairOf(await refreshBy(publicClient, first, key))
      const third = pairOf(await refreshBy(publicClient, second, key))
      expectRefusal(await refreshBy(publicClient, first, by()), 400, error)
      expect(await isActive(server, api, third.access_token)).toBe(true)
      expectRefusal(await refreshBy(publicClient, first, key), 400, 'invalid_grant')
      expect(await isActive(server, api, third.access_token)).toBe(false)
    }
  )

  test('gets the lost response again for the same key only (ADR 0006)', async () => {
    const second = pairOf(await refreshBy(publicClient, first, key))
    expectRefusal(await refreshBy(publicClient, first, undefined), 400, 'invalid_dpop_proof')
    expectRefusal(await refreshBy(publicClient, first, other), 400, 'invalid_grant')
    expect(pairOf(await refreshBy(publicClient, first, key))).toMatchObject({
      access_token: second.access_token,
      refresh_token: second.refresh_token,
      token_type: 'DPoP'
    })
  })

  test('is rotated once by ten requests at the same time, half of them of another key', async () => {
    const requests = Array.from({ length: 10 }, (_, index) =>
      refreshBy(publicClient, first, index % 2 === 0 ? key : other)
    )
    const answers = await Promise.all(requests)
    const successful = answers.filter(({ statusCode }) => statusCode === 200).map((answer) => answer.json())
    expect(successful).toHaveLength(5)
    expect(new Set(successful.map(({ refresh_token }) => refresh_token)).size).toBe(1)
  })

  test('needs a new sign-in when the server verifies no proofs any more', async () => {
    const off = await startInstance(server, { config: { dpop: 'off' } })
    try {
      expectRefusal(await refreshBy(publicClient, first, key, off), 400, 'invalid_grant')
    } finally {
      await off.close()
    }
    pairOf(await refreshBy(publicClient, first, key))
  })
})

describe('a bearer grant of a public client', () => {
  test('goes on without proofs, and is bound from its first proof on', async () => {
    const first = await tokensOf(publicClient, undefined)
    const second = pairOf(await refreshBy(publicClient, first, undefined))
    const third = pairOf(await refreshBy(publicClient, second, key))
    expect(await keyOf(second)).toBeUndefined()
    expect(await keyOf(third)).toBe(key.jkt)
    expectRefusal(await refreshBy(publicClient, third, undefined), 400, 'invalid_dpop_proof')
    expectRefusal(await refreshBy(publicClient, third, other), 400, 'invalid_grant')
  })

  test('gives the first bound response to the same key only', async () => {
    const first = await tokensOf(publicClient, undefined)
    const second = pairOf(await refreshBy(publicClient, first, key))
    expectRefusal(await refreshBy(publicClient, first, undefined), 400, 'invalid_dpop_proof')
    expectRefusal(await refreshBy(publicClient, first, other), 400, 'invalid_grant')
    expect(pairOf(await refreshBy(publicClient, first, key)).access_token).toBe(second.access_token)
  })
})

describe('the refresh token of a confidential client (RFC 9449 §5)', () => {
  test('works with each key, and the access token has the key of its own request', async () => {
    const first = await tokensOf(confidential, key)
    const second = pairOf(await refreshBy(confidential, first, other))
    expect(await keyOf(second)).toBe(other.jkt)
  })

  test('gives no bearer token after a bound one', async () => {
    const first = await tokensOf(confidential, key)
    expectRefusal(await refreshBy(confidential, first, undefined), 400, 'invalid_dpop_proof')
    const second = pairOf(await refreshBy(confidential, first, key))
    expectRefusal(await refreshBy(confidential, second, undefined), 400, 'invalid_dpop_proof')
  })

  test('gives no bearer token after a refresh gave the first bound one', async () => {
    const first = await tokensOf(confidential, undefined)
    const second = pairOf(await refreshBy(confidential, first, key))
    expect(await keyOf(second)).toBe(key.jkt)
    expectRefusal(await refreshBy(confidential, second, undefined), 400, 'invalid_dpop_proof')
  })

  test('gets the lost response again for the same key only', async () => {
    const first = await tokensOf(confidential, key)
    const second = pairOf(await refreshBy(confidential, first, key))
    expectRefusal(await refreshBy(confidential, first, undefined), 400, 'invalid_dpop_proof')
    expectRefusal(await refreshBy(confidential, first, other), 400, 'invalid_grant')
    expect(pairOf(await refreshBy(confidential, first, key)).access_token).toBe(second.access_token)
  })
})
