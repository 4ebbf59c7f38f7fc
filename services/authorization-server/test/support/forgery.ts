import { startTestServer } from './authorization-server.js'
import { PASSWORD } from './flow.js'

/**
 * An attacker, mallory, writes to Redis what she likes. She has an account and a client, album, and reads all that Redis
 * holds. Alice uses the client printer.
 */
export async function startForgeryTarget() {
  const server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  await server.createUser('mallory', PASSWORD)
  const printer = await server.createClient({ name: 'Printer' })
  const album = await server.createClient({ name: 'Album' })
  return { server, printer, album }
}
