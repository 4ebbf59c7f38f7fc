// Stands in for the authorization server's own start, used where Redis is emulated.
export async function startAuthorizationServer(environment, { redis }) {
  await redis.set('emulated', 'yes')
  console.log(JSON.stringify({ emulated: await redis.get('emulated'), redisUrl: environment.REDIS_URL ?? 'none' }))
  await import('./main.js')
  return { close: async () => {} }
}
