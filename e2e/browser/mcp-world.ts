import { type AppSite, openAppSite } from '../support/app-site.js'
import { type GuardedMcpServer, startMcpServer } from '../support/mcp/mcp-server.js'
import { createVisits, type Visits } from '../support/visits.js'
import type { Addresses, Stack } from '../system/stack.mjs'
import type { BrowserWorld } from './browser-world.js'

/** A guarded MCP server at a path, pages in Chromium, and the loopback site of a native client, beside a running stack. */
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

/**
 * @param options.name of the API, unique in the stack
 * @param options.origins those that pages may send requests to, other than the stack's and the site's
 */
export async function createMcpWorld(
  { stack, at, browser, files }: BrowserWorld,
  { name, origins = [] }: { name: string; origins?: readonly string[] }
): Promise<McpWorld> {
  const endings: (() => Promise<unknown>)[] = []

  async function close(): Promise<void> {
    await Promise.all(endings.map((end) => end()))
  }

  async function addServer(name: string, path: string): Promise<GuardedMcpServer> {
    const server = await startMcpServer(stack, at, { name, path, files })
    endings.push(server.stop)
    return server
  }

  async function register(scopes: readonly string[], ...options: string[]): Promise<string> {
    const { client_id: clientId = '' } = await stack.valetkey([
      'clients',
      'create',
      '--name',
      'Agent',
      '--public',
      '--redirect-uri',
      'http://127.0.0.1/callback',
      '--scope',
      scopes.join(' '),
      ...options
    ])
    return clientId
  }

  const site = await openAppSite()
  endings.push(site.close)
  try {
    const mcp = await addServer(name, '/mcp')
    const named = site.origin.replace('127.0.0.1', 'localhost')
    const expected = [at.issuer, site.origin, named, new URL(mcp.url).origin, ...origins]
    const visits = createVisits(() => ({ browser, origins: expected }))
    endings.push(visits.close)
    return { stack, at, visits, site, mcp, addServer, register, close }
  } catch (error) {
    await close()
    throw error
  }
}
