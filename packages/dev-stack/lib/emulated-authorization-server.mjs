// The authorization server on an emulated Redis, for machines without a Redis server. Sessions and codes live in this
// process and end with it. The server's own main program never does this: there REDIS_URL is required.
import RedisMock from 'ioredis-mock'
import { startAuthorizationServer } from '../../../services/authorization-server/dist/start.js'

const server = await startAuthorizationServer(process.env, { redis: new RedisMock() })

for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, async () => {
    await server.close()
    process.exit(0)
  })
}
