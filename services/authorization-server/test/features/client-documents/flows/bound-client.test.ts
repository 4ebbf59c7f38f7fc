import { describe, expect, test } from '@jest/globals'
import { auditRows } from '../../../support/audit-rows.js'
import { PKCE } from '../../../support/codes.js'
import { expectRefusal } from '../../../support/refusals.js'
import { createProver, exchangeForm, postWithProof, refreshForm } from '../../dpop/support/proofs.js'
import { APP_CALLBACK, codeFor, tokensFor, useDiscovery } from '../support/discovery.js'

const BOUND = { dpop_bound_access_tokens: true }

const formOf = (clientId: string, code: string) =>
  exchangeForm({ clientId, clientSecret: '' }, code, { redirect_uri: APP_CALLBACK })

describe('a server with DPOP=allowed', () => {
  const world = useDiscovery({ DPOP: 'allowed' })

  test('refuses a client without a proof if its document has dpop_bound_access_tokens (RFC 9449 §5.2)', async () => {
    const { server, documents } = world
    const key = await createProver()
    const clientId = documents.publish('/bound', BOUND)
    const code = await codeFor(world, clientId, PKCE)
    expectRefusal(await postWithProof(server, formOf(clientId, code), undefined), 400, 'invalid_request')
    const tokens = await postWithProof(server, formOf(clientId, code), key)
    expect(tokens.statusCode).toBe(200)
    const refreshing = refreshForm({ clientId, clientSecret: '' }, tokens.json().refresh_token)
    expectRefusal(await postWithProof(server, refreshing, undefined), 400, 'invalid_request')
    expect((await postWithProof(server, refreshing, key)).statusCode).toBe(200)
  })

  test('reads the member from the cached document, too, and records its change', async () => {
    const { server, documents } = world
    const clientId = documents.publish('/bound-later')
    expect((await tokensFor(world, clientId)).statusCode).toBe(200)
    documents.publish('/bound-later', BOUND)
    await server.redis.flushdb()
    for (let allow = 1; allow <= 2; allow++) expectRefusal(await tokensFor(world, clientId), 400, 'invalid_request')
    const rows = (await auditRows(server)).filter(({ client_id: id }) => id === clientId)
    expect(rows.filter(({ event }) => event === 'client_document_changed').map(({ details }) => details)).toEqual([
      { changes: { dpop_bound_access_tokens: { from: false, to: true } } }
    ])
  })
})

describe('a server with DPOP=off', () => {
  const world = useDiscovery()

  test('gives bearer tokens to such a client', async () => {
    const tokens = await tokensFor(world, world.documents.publish('/bound', BOUND))
    expect([tokens.statusCode, tokens.json().token_type]).toEqual([200, 'Bearer'])
  })
})
