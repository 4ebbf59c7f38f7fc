import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Administration, startAdministration } from '../../../support/administration.js'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'
import { authorizeUrl, exchange } from '../../../support/flow.js'
import { writeRest } from '../../../support/write-rest.js'

let server: TestServer
let admin: Administration

beforeAll(async () => {
  server = await startTestServer()
  admin = await startAdministration(server)
})
afterAll(() => server.close())

describe('/admin/clients/{client_id}/refusals', () => {
  const path = (clientId: string) => `/clients/${encodeURIComponent(clientId)}/refusals`

  test('GET lists what the command line lists, newest first', async () => {
    const client = await server.createClient()
    expect((await admin.call('GET', path(client.clientId))).json()).toEqual({ refusals: [] })
    const redirect_uri = 'https://app.example/other?next=secret'
    const first = await server.publicServer.inject({ url: authorizeUrl(client.clientId, { redirect_uri }) })
    await writeRest(server)
    const second = await exchange(server, client, 'vk_ac_x')
    await writeRest(server)
    const answer = await admin.call('GET', path(client.clientId))
    expect(answer.json()).toEqual({
      refusals: [
        {
          occurred_at: expect.stringMatching(/Z$/),
          endpoint: 'token',
          error: 'invalid_grant',
          reason: 'code_unknown',
          explanation: 'The authorization code is not one of this app.',
          remedy: expect.stringMatching(/^Send the complete code/),
          error_description: expect.stringMatching(/^The code or token is unknown/),
          request_id: second.headers['x-request-id'],
          authenticated: true
        },
        {
          occurred_at: expect.stringMatching(/Z$/),
          endpoint: 'authorize',
          error: 'invalid_request',
          reason: 'redirect_uri_mismatch',
          explanation: expect.any(String),
          remedy: expect.any(String),
          redirect_uri: 'https://app.example/other?next=…',
          request_id: first.headers['x-request-id'],
          authenticated: false
        }
      ]
    })
    const { out } = await runCommand(server.database, ['clients', 'refusals', client.clientId, '--json'])
    expect(JSON.parse(out)).toEqual(answer.json())
    expect((await admin.call('GET', `${path(client.clientId)}?limit=1`)).json().refusals).toHaveLength(1)
  })

  test.each(['unknown', '\u0000'])('of the unknown client %j is 404', async (clientId) => {
    expect((await admin.call('GET', path(clientId))).statusCode).toBe(404)
  })

  test.each(['0', '101', 'all'])('with the limit %s is 400', async (limit) => {
    const client = await server.createClient()
    expect((await admin.call('GET', `${path(client.clientId)}?limit=${limit}`)).statusCode).toBe(400)
  })
})
