import { describe } from '@jest/globals'
import { mcpClientWithProofs } from './stack/mcp-client-with-proofs.js'
import { quickstartsWithKeys } from './stack/quickstarts-with-keys.js'
import { useStack } from './stack/use-stack.js'

// A stack that binds tokens to keys if an app asks for it.
const world = useStack({ DPOP: 'allowed' })

describe('quickstarts with keys', () => quickstartsWithKeys(world))

describe('MCP client with proofs', () => mcpClientWithProofs(world))
