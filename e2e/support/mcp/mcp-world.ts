import { type Addresses, createStack, type Stack } from '../../system/stack.mjs'
import { type AppSite, openAppSite } from '../app-site.js'
import { launchChromium } from '../chromium.js'
import { makeKnownFiles } from '../known-files.js'
import { createVisits, type Visits } from '../visits.js'
import { type GuardedMcpServer, startMcpServer } from './mcp-server.js'

/** A running stack, a guarded MCP server at a path, Chromium, and the loopback site of a native client. */
export type McpWorld = {
  stack: Stack
  at: Addresses
  visits: Visits
  site: AppSite
  mcp: GuardedMcpServer
  /** Starts another MCP server, which `close` stops. */
  addServer(name: string, path: string): Promise<GuardedMcpServer>
  /** Registers a public client for the scopes. Returns its id. */
  register(scopes: readonly string[], ...options: string[]): Promise<string>
  close(): Promise<void>
}

/** `origins`: those that pages may send requests to, other than the stack's and the site's. */
export async function createMcpWorld(
  environment: Record<string, string> = {},
  origins: readonly string[] = []
): Promise<McpWorld> {
  const files = makeKnownFiles()
  const stack = await createStack({ files: files.directory, environment })
  const endings: (() => Promise<unknown>)[] = []

  async function close(): Promise<void> {
    await Promise.all(endings.map((end) => end()))
    await stack.dispose()
    files.remove()
  }

  async function open(): Promise<McpWorld> {
    const [at, browser, site] = await Promise.all([stack.start(), launchChromium(), openAppSite()])
    endings.push(() => browser.close(), site.close)
    async function addServer(name: string, path: string): Promise<GuardedMcpServer> {
      const server = await startMcpServer(stack, at, { name, path, files: files.directory })
      endings.push(server.stop)
      return server
    }

    const mcp = await addServer('agent-files', '/mcp')
    const named = site.origin.replace('127.0.0.1', 'localhost')
    const expected = [at.issuer, site.origin, named, new URL(mcp.url).origin, ...origins]
    return {
      stack,
      at,
      visits: createVisits(() => ({ browser, origins: expected })),
      site,
      mcp,
      addServer,
      async register(scopes, ...options) {
        const { client_id: clientId = '' } = await stack.valetkey([
          ...['clients', 'create', '--name', 'Agent', '--public', '--redirect-uri', 'http://127.0.0.1/callback'],
          ...['--scope', scopes.join(' '), ...options]
        ])
        return clientId
      },
      close
    }
  }

  try {
    return await open()
  } catch (error) {
    await close()
    throw error
  }
}
