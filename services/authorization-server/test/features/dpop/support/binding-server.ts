import { startTestServer } from '../../../support/authorization-server.js'
import { PASSWORD } from '../../../support/flow.js'
import { createPublicClient } from '../../../support/tokens.js'
import { createProver } from './proofs.js'

/** A server that binds tokens to keys, with the user alice, an API that checks proofs, two clients and two keys. */
export async function startBindingServer() {
  const server = await startTestServer({ DPOP: 'allowed' })
  await server.createUser('alice', PASSWORD)
  return {
    server,
    browser: server.newBrowser(),
    api: await server.createResourceServer(undefined, { dpop: 'allowed' }),
    confidential: await server.createClient(),
    publicClient: await createPublicClient(server),
    key: await createProver(),
    other: await createProver()
  }
}
