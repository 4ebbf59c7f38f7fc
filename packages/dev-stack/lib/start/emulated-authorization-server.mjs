// The authorization server on an emulated Redis, for machines without a Redis server. Sessions and codes live in this
// process and end with it. The server's own main program never does this.
import { FEATURES } from '../../../../services/authorization-server/dist/features.js'
import { startAuthorizationServer } from '../../../../services/authorization-server/dist/start.js'
import { messageOf } from '../error-code.mjs'
import { createEmulatedRedis } from '../stores/emulated-redis.mjs'

const STOP_TIME_LIMIT_MS = 9_000

try {
  const server = await startAuthorizationServer(process.env, FEATURES, { redis: createEmulatedRedis('localhost') })
  const stop = () => {
    setTimeout(() => process.exit(1), STOP_TIME_LIMIT_MS).unref()
    server.close().then(
      () => process.exit(0),
      () => process.exit(1)
    )
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, stop)
} catch (error) {
  // One line for each malformed setting, as in the server's own main program.
  console.error(messageOf(error))
  process.exit(1)
}
