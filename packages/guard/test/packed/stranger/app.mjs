// An API in JavaScript that uses the guard as the README describes.
import { createGuard } from '@valetkey/guard'
import { bearerPlugin } from '@valetkey/guard/fastify'
import { fastify } from 'fastify'

const guard = createGuard({
  issuer: 'https://auth.example',
  resource: 'https://reports.example',
  scopesSupported: ['reports.read'],
  tokenFormat: 'any',
  introspection: { url: process.argv[2], clientId: 'reports', clientSecret: 'secret', timeoutMs: 500 }
})
const app = fastify()
await app.register(bearerPlugin, { guard })
app.get('/reports', { onRequest: app.requireAccessToken('reports.read') }, async ({ accessToken }) => {
  return { subject: accessToken.subject }
})
console.log(await app.listen({ host: '127.0.0.1', port: 0 }))
