/**
 * The `REDIS_URL` of `npm start` on a machine without a Redis server: it emulates Redis in the process of the service. No
 * connection to this host is possible (RFC 6761 6.4).
 */
const EMULATED_REDIS_URL = 'redis://emulated.invalid'

export const isEmulated = (redisUrl: string) => redisUrl === EMULATED_REDIS_URL
