// The same in CommonJS, with node:http.
const { createServer } = require('node:http')
const { createGuard } = require('@valetkey/guard')
const { accessTokenOf, requireAccessToken } = require('@valetkey/guard/node')
for (const entry of ['fastify', 'web', 'mcp']) require(`@valetkey/guard/${entry}`)

const guard = createGuard({
  issuer: 'https://auth.example',
  resource: 'https://reports.example',
  scopesSupported: ['reports.read'],
  tokenFormat: 'any',
  introspection: { url: process.argv[2], clientId: 'reports', clientSecret: 'secret', timeoutMs: 500 }
})
const mayRead = requireAccessToken(guard, 'reports.read')
const server = createServer((request, response) =>
  mayRead(request, response, () => response.end(JSON.stringify({ subject: accessTokenOf(request).subject })))
)
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
