// Stands in for the authorization server's own start, used where Redis is emulated.
export async function startAuthorizationServer(environment, _features, { redis }) {
  await redis.set('emulated', 'yes')
  console.log(JSON.stringify({ emulated: await redis.get('emulated'), redisUrl: environment.REDIS_URL ?? 'none' }))
  // Its neighbour in the stand-in checkout, where this file is copied to.
  await import(new URL('main.js', import.meta.url).href)
  return { close: async () => {} }
}
