// The emulation of Redis, for npm start and npm test on a machine without a Redis server. It corrects ioredis-mock where the
// services or their tests rely on what Redis does.
import RedisMock from 'ioredis-mock'

/** @param {string} host the emulation keeps one data set for each host name */
export const createEmulatedRedis = (host) =>
  // Without an offline queue, a command after a disconnect fails. With it, ioredis-mock executes the command.
  corrected(new RedisMock({ host, enableOfflineQueue: false }))

function corrected(client) {
  const [type, duplicate] = [client.type.bind(client), client.duplicate.bind(client)]
  // A script may store a number. For that, ioredis-mock has no type.
  client.type = async (key) => (await type(key)) ?? 'string'
  client.duplicate = (options) => corrected(duplicate(options))
  return client
}
