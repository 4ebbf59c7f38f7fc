import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { createAgent, type Sdk } from './agent.js'

/** `@modelcontextprotocol/sdk`, the first version of the official library. */
export const withSdkV1: Sdk = (options) =>
  createAgent(options, ({ provider }) => {
    // The two versions declare the same interface with types of their own.
    const authProvider = provider as OAuthClientProvider
    const transport = new StreamableHTTPClientTransport(new URL(options.url), { authProvider })
    const client = new Client({ name: 'agent', version: '1.0.0' })
    return {
      async call(tool, parameters) {
        await client.connect(transport as Parameters<Client['connect']>[0])
        return client.callTool({ name: tool, arguments: parameters })
      },
      isUnauthorized: (error) => error instanceof UnauthorizedError,
      finish: (redirect) => transport.finishAuth(redirect.get('code') ?? ''),
      close: () => client.close()
    }
  })
