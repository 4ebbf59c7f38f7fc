import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'
import { authorizeUrl, exchange } from '../../../support/flow.js'
import { writeRest } from '../../../support/write-rest.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

describe('clients refusals', () => {
  let client: Credentials
  beforeEach(async () => {
    client = await server.createClient()
  })

  async function refusals(...args: string[]) {
    await writeRest(server)
    return runCommand(server.database, ['clients', 'refusals', ...args])
  }

  test('prints time, endpoint, error, reason, remedy and request id', async () => {
    const url = authorizeUrl(client.clientId, { redirect_uri: 'https://other.example/?a=secret' })
    const { headers } = await server.publicServer.inject({ url })
    const { code, out, said } = await refusals(client.clientId)
    expect([code, said]).toEqual([0, ''])
    expect(out).toMatch(/^\d{4}-\S+Z authorize invalid_request redirect_uri_mismatch \(not authenticated\)\n/)
    expect(out).toContain('Send a registered redirect URI')
    expect(out).toContain('  redirect_uri: https://other.example/?a=…\n')
    expect(out).toContain(`  request id: ${headers['x-request-id']}\n`)
  })

  test('reports an empty list, and that there are more', async () => {
    expect((await refusals(client.clientId)).out).toBe('There are no refused requests.\n')
    await exchange(server, client, 'vk_ac_x')
    await exchange(server, client, 'vk_ac_y')
    const { out, said } = await refusals(client.clientId, '--limit', '1')
    expect(out).toContain('token invalid_grant code_unknown (authenticated)')
    expect(out).toContain('error_description: ')
    expect(out.match(/request id/g)).toHaveLength(1)
    expect(said).toMatch(/more than 1 refusals/)
  })

  test('of an unknown client fails', async () => {
    const { code, said } = await refusals('unknown')
    expect([code === 0, said]).toEqual([false, 'there is no client unknown'])
  })
})
