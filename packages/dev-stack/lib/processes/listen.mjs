/** @import { AddressInfo, Server } from 'node:net' */

/**
 * Listens on a free port of the loopback interface.
 * @param {Server} server
 * @returns {Promise<number>} the port
 */
export async function listenOnLoopback(server) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  return /** @type {AddressInfo} */ (server.address()).port
}
