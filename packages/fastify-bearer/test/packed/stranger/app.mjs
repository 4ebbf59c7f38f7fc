// An API in JavaScript that uses the guard as the README describes.
import { bearerPlugin } from '@valetkey/fastify-bearer'
import { fastify } from 'fastify'

const app = fastify()
await app.register(bearerPlugin, {
  issuer: 'https://auth.example',
  resource: 'https://reports.example',
  scopesSupported: ['reports.read'],
  tokenFormat: 'any',
  introspection: { url: process.argv[2], clientId: 'reports', clientSecret: 'secret', timeoutMs: 500 }
})
app.get('/reports', { onRequest: app.requireAccessToken('reports.read') }, async ({ accessToken }) => {
  return { subject: accessToken.subject }
})
console.log(await app.listen({ host: '127.0.0.1', port: 0 }))
