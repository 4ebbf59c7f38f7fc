import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Client, DpopSession, StreamableHTTPClientTransport, withDpop } from '@modelcontextprotocol/client'
import type { FastifyInstance } from 'fastify'
import { buildApp } from '../examples/mcp-server/src/app.js'
import { freePort } from '../packages/dev-stack/lib/processes/ports.mjs'
import { json, startFakeEndpoint } from '../packages/guard/test/fake-introspection-endpoint.js'
import { expiryBucket, newOpaqueAccessToken } from '../packages/oauth-protocol/src/opaque-token.js'

const token = newOpaqueAccessToken(expiryBucket(new Date(Date.now() + 3_600_000)), randomBytes)
const scopes = { list: 'files.list', find: 'files.find' }
const statuses: number[] = []
let endpoint: Awaited<ReturnType<typeof startFakeEndpoint>>
let app: FastifyInstance
let resource = ''

beforeAll(async () => {
  endpoint = await startFakeEndpoint()
  const listen = { host: '127.0.0.1', port: await freePort() }
  resource = `http://127.0.0.1:${listen.port}/mcp`
  app = await buildApp({
    issuer: 'http://127.0.0.1:4000',
    resource,
    introspection: { url: endpoint.url, clientId: 'mcp', clientSecret: 'secret' },
    files: tmpdir(),
    scopes,
    dpop: 'required',
    nonceKeys: ['a secret of at least thirty-two characters'],
    listen
  })
  app.addHook('onResponse', async (_request, reply) => {
    statuses.push(reply.raw.statusCode)
  })
  await app.listen(listen)
})
afterAll(async () => {
  await app?.close()
  await endpoint?.close()
})

test('an MCP server that requires nonces refuses one request of the official client, which repeats it', async () => {
  const session = await DpopSession.create()
  const bound = { token_type: 'DPoP', cnf: { jkt: session.thumbprint } }
  const scope = `${scopes.list} ${scopes.find}`
  endpoint.answers(json({ active: true, aud: resource, scope, client_id: 'agent', sub: 'alice', ...bound }))
  const send = withDpop(session, async () => token)(fetch)
  const client = new Client({ name: 'agent', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(resource), { fetch: send }))
  expect(await client.callTool({ name: 'list_files', arguments: {} })).toMatchObject({
    content: [{ type: 'text', text: expect.stringContaining('files') }]
  })
  await client.close()
  expect(statuses.filter((status) => status === 401)).toHaveLength(1)
})
