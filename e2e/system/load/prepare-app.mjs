// Registers a user, clients with remembered consent, and an API, for programs and tests on a cluster.
import { createApp } from '../../../packages/dev-stack/lib/client/app.mjs'
import { simulateUser } from '../../../packages/dev-stack/lib/client/user.mjs'
import {
  ALICE,
  registerClient,
  registerResourceServer,
  registerUser
} from '../../../packages/dev-stack/lib/services/register.mjs'

/** @import { Cluster } from '../start-cluster.mjs' */
/** @typedef {Awaited<ReturnType<typeof prepareApp>>} PreparedApp */

/** @param {Pick<Cluster, 'issuer' | 'resource' | 'valetkey'>} cluster */
export async function prepareApp({ issuer, resource, valetkey }) {
  const userId = await registerUser(valetkey)
  const resourceServer = await registerResourceServer(valetkey, resource)

  /** Registers another client, which the user allows once. `nextCode` returns a new code for each call. */
  async function addClient() {
    const registration = { issuer, ...(await registerClient(valetkey, { name: 'Printer' })) }
    const start = createApp(registration).authorizeUrl()
    const user = simulateUser(issuer, ALICE)
    await user.code(start)
    const client = { client_id: registration.clientId, client_secret: registration.clientSecret }
    return { client, start, nextCode: () => user.code(start) }
  }

  return { userId, account: ALICE, resourceServer, addClient }
}
