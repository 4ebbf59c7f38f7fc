import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { DpopSession } from '@modelcontextprotocol/client'
import { simulateUser } from '../../packages/dev-stack/lib/client/user.mjs'
import type { Agent, Sdk } from '../support/mcp/agent.js'
import { type GuardedMcpServer, startMcpServer } from '../support/mcp/mcp-server.js'
import { withSdkV2Of2025, withSdkV2Of2026 } from '../support/mcp/sdk-v2.js'
import type { StackWorld } from './use-stack.js'

const REDIRECT_URI = 'http://127.0.0.1:4281/callback'
const INVOICE = 'Invoice 2026-10.pdf'

/** The official MCP client with its proof session, from the 401 of an MCP server that takes bound tokens only to a tool call. */
export function mcpClientWithProofs(world: StackWorld): void {
  let server: GuardedMcpServer
  let clientId: string

  beforeAll(async () => {
    const { stack, at, files } = world
    server = await startMcpServer(stack, at, { name: 'bound-files', path: '/mcp', files, dpop: 'required' })
    const redirect = ['--redirect-uri', REDIRECT_URI]
    const client = ['--name', 'Agent', '--public', ...redirect, '--scope', server.scopes.list]
    const created = await stack.valetkey(['clients', 'create', ...client])
    clientId = created.client_id ?? ''
  })
  afterAll(async () => server?.stop())

  async function allow(request: URL): Promise<URLSearchParams> {
    return (await simulateUser(world.at.issuer, world.at).decide(request, 'allow')).searchParams
  }

  function newAgent(sdk: Sdk, dpop: DpopSession, authorize = allow): Agent {
    return sdk({ url: server.url, redirectUri: REDIRECT_URI, clientId, dpop, authorize })
  }

  async function revokeAccessToken({ memory }: Agent): Promise<void> {
    const body = new URLSearchParams({ token: memory.tokens()?.access_token ?? '', client_id: clientId })
    expect((await fetch(`${world.at.issuer}/oauth/revoke`, { method: 'POST', body })).status).toBe(200)
  }

  test.each([
    ['2025', 'ES256', withSdkV2Of2025],
    ['2026', 'EdDSA', withSdkV2Of2026]
  ] as const)(
    'protocol of %s, %s: the client gets a bound token, calls the tool, and refreshes with its key',
    async (_year, alg, sdk) => {
      const agent = newAgent(sdk, await DpopSession.create({ alg }))
      expect(await agent.call('list_files')).toContain(INVOICE)
      const first = agent.memory.tokens()
      expect(first?.token_type).toBe('DPoP')

      await revokeAccessToken(agent)
      expect(await agent.call('list_files')).toContain(INVOICE)
      expect(agent.memory.tokens()?.access_token).not.toBe(first?.access_token)
      expect(agent.memory.requests).toHaveLength(1)
    }
  )

  test('a copy of the tokens is useless with another key: the client has to ask its user', async () => {
    const owner = newAgent(withSdkV2Of2025, await DpopSession.create())
    await owner.call('list_files')
    const thief = newAgent(withSdkV2Of2025, await DpopSession.create(), async () => {
      throw new Error('the user is asked')
    })
    const copied = owner.memory.tokens()
    if (copied === undefined) throw new Error('the client has no tokens')
    await thief.memory.provider.saveTokens(copied)
    await expect(thief.call('list_files')).rejects.toThrow('the user is asked')
    expect(await owner.call('list_files')).toContain(INVOICE)
  })
}
