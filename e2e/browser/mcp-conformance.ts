import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { freePort } from '../../packages/dev-stack/lib/processes/ports.mjs'
import { type ConformanceResult, runConformance } from '../support/mcp/conformance.js'
import { allow } from '../support/mcp/mcp-user.js'
import { withSdkV1 } from '../support/mcp/sdk-v1.js'
import { startTokenRelay } from '../support/mcp/token-relay.js'
import type { BrowserWorld } from './browser-world.js'
import { createMcpWorld, type McpWorld } from './mcp-world.js'

let creation: Promise<McpWorld> | undefined
let world: McpWorld
let page: Page
let clientId: string
let relay: Awaited<ReturnType<typeof startTokenRelay>>

/** The user allows in Chromium what the tool asks for. */
async function testAuthorizationServer(...options: string[]): Promise<ConformanceResult> {
  const args = ['authorization', '--url', world.at.issuer, '--client-id', clientId, '--port', String(await freePort())]
  return runConformance([...args, ...options], (line) =>
    line.startsWith(`${world.at.issuer}/oauth/authorize?`) ? allow(page, new URL(line), world.at) : undefined
  )
}

/** Needs CLIENT_ID_METADATA=open. */
export function mcpConformance(given: BrowserWorld): void {
  beforeAll(async () => {
    creation = createMcpWorld(given, { name: 'checked-files' })
    world = await creation
    page = await world.visits.open()
    clientId = await world.register([world.mcp.scopes.list], '--no-refresh')
    const authorize = (request: URL) => allow(page, request, world.at)
    const agent = withSdkV1({ url: world.mcp.url, redirectUri: world.site.redirectUri, clientId, authorize })
    await agent.call('list_files')
    relay = await startTokenRelay(world.mcp.url, agent.memory.tokens()?.access_token ?? '')
  })
  afterAll(async () => {
    await relay?.stop()
    await (await creation)?.close()
  })

  test('the authorization server passes the conformance tool, with a user in Chromium', async () => {
    expect(await testAuthorizationServer('--resource', world.mcp.resource)).toEqual({
      code: 0,
      passed: ['authorization-code-grant', 'authorization-server-metadata', 'authorization-server-metadata-cimd'],
      problems: []
    })
  })

  test('a request without scope and resource, as the tool sends by default: the default scopes of the default API', async () => {
    await world.stack.valetkey(['scopes', 'update', 'files.read', '--default'])
    await world.stack.valetkey(['clients', 'update', clientId, '--scope', `files.read ${world.mcp.scopes.list}`])
    expect(await testAuthorizationServer()).toMatchObject({ code: 0, problems: [] })
  })

  describe('the MCP server and the conformance tool', () => {
    // The other scenarios test tools, prompts, resources and tasks with fixed names, which only a test server has.
    test.each([
      { scenario: 'server-initialize' },
      { scenario: 'ping' },
      { scenario: 'tools-list' },
      { scenario: 'dns-rebinding-protection' },
      { scenario: 'http-header-validation' },
      {
        scenario: 'server-stateless',
        untestable: [
          // These need tools named test_….
          'sep-2575-http-server-no-independent-requests-on-stream',
          'sep-2575-missing-capability-http-400',
          'sep-2575-server-no-log-without-loglevel',
          'sep-2575-server-rejects-undeclared-capability',
          // The list of tools never changes.
          'sep-2575-server-sends-tools-list-changed-on-subscription'
        ]
      },
      {
        scenario: 'caching',
        // The server has neither prompts nor resources.
        untestable: [
          'sep-2549-prompts-list-caching-hints',
          'sep-2549-resources-list-caching-hints',
          'sep-2549-resources-templates-list-caching-hints'
        ]
      }
    ])('$scenario: every check that applies passes', async ({ scenario, untestable = [] }) => {
      const { passed, problems } = await runConformance(['server', '--url', relay.url, '--scenario', scenario])
      expect(passed.length).toBeGreaterThan(0)
      expect(problems).toEqual(untestable)
    })

    test('without a token, no check passes', async () => {
      const result = await runConformance(['server', '--url', world.mcp.url, '--scenario', 'server-initialize'])
      expect(result).toMatchObject({ code: 1, problems: expect.arrayContaining(['server-initialize']) })
    })
  })
}
