import { type CallToolResult, McpServer, requireScopes } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Config } from './config.js'
import { listFolder } from './file-list.js'

/** A new server for one request, with its two tools. */
export function buildMcpServer({ files: folder, scopes }: Pick<Config, 'files' | 'scopes'>): McpServer {
  const server = new McpServer({ name: 'valetkey-example-files', version: '0.1.0' })

  server.registerTool(
    'list_files',
    {
      title: 'List files',
      description: 'Lists the names of all files.',
      inputSchema: z.object({}),
      annotations: { readOnlyHint: true }
    },
    async () => toResult((await listFolder(folder)).map(({ name }) => ({ name })))
  )

  server.registerTool(
    'find_file',
    {
      title: 'Find a file',
      description: 'Finds files by a part of their name, with size and time of change.',
      inputSchema: z.object({ name: z.string().min(1).max(100).describe('a part of the name') }),
      annotations: { readOnlyHint: true },
      // All scopes of this operation, because some clients request exactly the scopes of the challenge.
      scopeChallenge: requireScopes(scopes.list, scopes.find)
    },
    async ({ name }) => {
      const part = name.toLowerCase()
      return toResult((await listFolder(folder)).filter((file) => file.name.toLowerCase().includes(part)))
    }
  )
  return server
}

function toResult(files: object[]): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify({ files }) }] }
}
