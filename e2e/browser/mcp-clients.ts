import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import type { Agent, AgentOptions, Sdk } from '../support/mcp/agent.js'
import type { GuardedMcpServer } from '../support/mcp/mcp-server.js'
import { allow } from '../support/mcp/mcp-user.js'
import { callTool, startScripted } from '../support/mcp/scripted-client.js'
import { withSdkV1 } from '../support/mcp/sdk-v1.js'
import { withSdkV2Of2025, withSdkV2Of2026 } from '../support/mcp/sdk-v2.js'
import { listFiles } from '../support/resource.js'
import type { BrowserWorld } from './browser-world.js'
import { createMcpWorld, type McpWorld } from './mcp-world.js'

const INVOICE = 'Invoice 2026-10.pdf'
let creation: Promise<McpWorld> | undefined
let world: McpWorld
let bare: GuardedMcpServer
let page: Page
/** Registered clients: with a refresh token, without, and for the API without a path. */
let refreshing: string
let plain: string
let ofBare: string

function newAgent(sdk: Sdk, given: Partial<AgentOptions>): Agent {
  const authorize = (request: URL) => allow(page, request, world.at)
  return sdk({ url: world.mcp.url, redirectUri: world.site.redirectUri, authorize, ...given })
}

/** `scope` and `resource` of the authorization requests. */
const asked = ({ memory }: Agent) =>
  memory.requests.map(({ searchParams }) => [searchParams.get('scope'), searchParams.get('resource')])

async function revoke({ memory }: Agent, clientId: string): Promise<void> {
  const body = new URLSearchParams({ token: memory.tokens()?.access_token ?? '', client_id: clientId })
  expect((await fetch(`${world.at.issuer}/oauth/revoke`, { method: 'POST', body })).status).toBe(200)
}

export function mcpClients(given: BrowserWorld): void {
  beforeAll(async () => {
    creation = createMcpWorld(given, { name: 'agent-files' })
    world = await creation
    bare = await world.addServer('bare-files', '')
    const { list, find } = world.mcp.scopes
    ;[refreshing, plain, ofBare, page] = await Promise.all([
      world.register([list, find]),
      world.register([list, find], '--no-refresh'),
      world.register([bare.scopes.list]),
      world.visits.open()
    ])
  })
  afterEach(() => {
    expect(world.visits.complaints()).toEqual([])
  })
  afterAll(async () => (await creation)?.close())

  describe.each([
    ['SDK v1', withSdkV1],
    ['SDK v2, protocol of 2025', withSdkV2Of2025],
    ['SDK v2, protocol of 2026', withSdkV2Of2026]
  ])('%s, from a 401 to a tool call', (_name, sdk) => {
    test('a registered client gets the scope of the challenge; its token is refused at another API', async () => {
      const agent = newAgent(sdk, { clientId: refreshing })
      expect(await agent.call('list_files')).toContain(INVOICE)
      expect(asked(agent)).toEqual([[world.mcp.scopes.list, world.mcp.resource]])
      expect(agent.memory.tokens()).toMatchObject({ scope: world.mcp.scopes.list })
      expect((await listFiles(world.at.resourceUrl, agent.memory.tokens()?.access_token ?? '')).status).toBe(401)
    })

    test('a resource identifier without a path, and a URL with the slash', async () => {
      const agent = newAgent(sdk, { url: `${bare.url}/`, clientId: ofBare })
      expect(await agent.call('list_files')).toContain(INVOICE)
      expect(asked(agent)).toHaveLength(1)
    })

    test('a tool that needs another scope: 403, the user allows all of its scopes, the call succeeds', async () => {
      const { list, find } = world.mcp.scopes
      // With a refresh token, the first version of the SDK refreshes after the 403 instead of asking the user.
      const agent = newAgent(sdk, { clientId: sdk === withSdkV1 ? plain : refreshing })
      await agent.call('list_files')
      expect(await agent.call('find_file', { name: 'invoice' })).toEqual([INVOICE])
      expect(asked(agent)).toEqual([
        [list, world.mcp.resource],
        [`${list} ${find}`, world.mcp.resource]
      ])
      expect(await agent.call('list_files')).toContain(INVOICE)
    })

    test('after revocation of the access token: the next call asks the user again and succeeds', async () => {
      const agent = newAgent(sdk, { clientId: plain })
      await agent.call('list_files')
      await revoke(agent, plain)
      expect(await agent.call('list_files')).toContain(INVOICE)
      expect(asked(agent)).toHaveLength(2)
    })

    test('after revocation of the access token: a client with a refresh token does not ask the user', async () => {
      const agent = newAgent(sdk, { clientId: refreshing })
      await agent.call('list_files')
      const first = agent.memory.tokens()
      await revoke(agent, refreshing)
      expect(await agent.call('list_files')).toContain(INVOICE)
      expect(asked(agent)).toHaveLength(1)
      expect(agent.memory.tokens()?.refresh_token).not.toBe(first?.refresh_token)
    })

    test('after the end of the access: the refresh is refused, the user is asked again, the call succeeds', async () => {
      const agent = newAgent(sdk, { clientId: refreshing })
      await agent.call('list_files')
      await world.stack.valetkey(['grants', 'revoke', '--client', refreshing, '--yes'])
      expect(await agent.call('list_files')).toContain(INVOICE)
      expect(asked(agent)).toHaveLength(2)
    })
  })

  test('VS Code, while documents are off: asks the user for a client id, and calls a tool', async () => {
    const redirectUri = world.site.redirectUri
    const { request, redeem } = await startScripted(world.mcp.url, {
      identify: ({ acceptsDocuments }) => (acceptsDocuments ? 'https://vscode.dev/oauth/client-metadata.json' : plain),
      redirectUri,
      scope: ({ challengeScope }) => challengeScope,
      resource: ({ resource }) => resource
    })
    const { access_token: token = '' } = await redeem(await allow(page, request, world.at))
    expect(await callTool(world.mcp.url, token, 'list_files')).toContain(INVOICE)
  })

  test('a page of another origin reads both metadata documents with MCP-Protocol-Version (CORS)', async () => {
    await page.goto(world.site.origin)
    const documents = [
      `${new URL(world.mcp.url).origin}/.well-known/oauth-protected-resource/mcp`,
      `${world.at.issuer}/.well-known/oauth-authorization-server`
    ]
    for (const url of documents) {
      const options = "{ headers: { 'mcp-protocol-version': '2025-11-25' } }"
      expect(await page.evaluate(`fetch(${JSON.stringify(url)}, ${options}).then(({ status }) => status)`)).toBe(200)
    }
  })
}
