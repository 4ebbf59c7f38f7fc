import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { createAgent, type Sdk } from './agent.js'

/** `@modelcontextprotocol/client`, the second version of the official library, with the protocol of 2025 or of 2026. */
const withSdkV2 =
  (mode: 'legacy' | 'auto'): Sdk =>
  (options) =>
    createAgent(options, ({ provider: authProvider }) => {
      const transport = new StreamableHTTPClientTransport(new URL(options.url), { authProvider })
      const client = new Client({ name: 'agent', version: '1.0.0' }, { versionNegotiation: { mode } })
      return {
        async call(tool, parameters) {
          await client.connect(transport)
          return client.callTool({ name: tool, arguments: parameters })
        },
        isUnauthorized: (error) => error instanceof UnauthorizedError,
        finish: (redirect) => transport.finishAuth(redirect),
        close: () => client.close()
      }
    })

export const withSdkV2Of2025 = withSdkV2('legacy')
export const withSdkV2Of2026 = withSdkV2('auto')
