import { startTestServer } from './authorization-server.js'
import { PASSWORD } from './flow.js'

/**
 * The attacker, mallory, can read and write all of Redis. She has an account and a client, album. Alice uses the client
 * printer.
 */
export async function startForgeryTarget() {
  const server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  await server.createUser('mallory', PASSWORD)
  const printer = await server.createClient({ name: 'Printer' })
  const album = await server.createClient({ name: 'Album' })
  return { server, printer, album }
}
