import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../packages/dev-stack/lib/processes/ports.mjs'
import type { Addresses, Stack } from '../../system/stack.mjs'

const main = fileURLToPath(new URL('../../../examples/mcp-server/dist/main.js', import.meta.url))

export type GuardedMcpServer = {
  url: string
  resource: string
  scopes: { list: string; find: string }
  stop(): Promise<void>
}

type McpServerOptions = {
  /** The name of its API and the prefix of its scopes. */
  name: string
  /** The path of its resource identifier: `/mcp`, or nothing. */
  path: string
  files: string
  /** `required`: takes only tokens that are bound to a key, with a proof (RFC 9449). Default: `off`. */
  dpop?: 'off' | 'required'
}

/** Registers the example MCP server as its README says, and starts it. */
export async function startMcpServer(
  stack: Stack,
  at: Addresses,
  options: McpServerOptions
): Promise<GuardedMcpServer> {
  const port = await freePort()
  const resource = `http://127.0.0.1:${port}${options.path}`
  const { name, dpop = 'off' } = options
  const api = ['--name', name, '--audience', resource, ...(dpop === 'off' ? [] : ['--dpop', dpop])]
  const credential = await stack.valetkey(['resource-servers', 'create', ...api])
  const scopes = { list: `${name}.list`, find: `${name}.find` }
  const create = ['--resource', name, '--discoverable']
  await Promise.all([
    stack.valetkey(['scopes', 'create', scopes.list, '--title', 'List your files', '--default', ...create]),
    stack.valetkey(['scopes', 'create', scopes.find, '--title', 'Find files by name', ...create])
  ])
  const child = spawn(process.execPath, [main], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ISSUER: at.issuer,
      RESOURCE: resource,
      INTROSPECTION_URL: `${at.internalUrl}/introspect`,
      INTROSPECTION_CLIENT_ID: credential.client_id ?? '',
      INTROSPECTION_CLIENT_SECRET: credential.client_secret ?? '',
      LIST_SCOPE: scopes.list,
      FIND_SCOPE: scopes.find,
      FILES: options.files,
      PORT: String(port),
      DPOP: dpop
    }
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const said = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
  if (said.done === true) throw new Error('The MCP server did not start')
  return {
    url: resource,
    resource,
    scopes,
    async stop() {
      child.kill()
      await ended
    }
  }
}
