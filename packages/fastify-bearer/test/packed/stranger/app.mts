// The same in TypeScript; it is only compiled. Lines that must not compile are marked.
import { type AccessToken, bearerPlugin, buildIntrospector, type RequireAccessToken } from '@valetkey/fastify-bearer'
import { fastify } from 'fastify'

const introspection = { url: 'http://127.0.0.1:1/introspect', clientId: 'reports', clientSecret: 'secret' }
const basics = {
  issuer: 'https://auth.example',
  resource: 'https://reports.example',
  scopesSupported: ['reports.read']
}

const app = fastify()
await app.register(bearerPlugin, { ...basics, introspection })
await app.register(bearerPlugin, { ...basics, introspection: buildIntrospector(introspection), tokenFormat: 'any' })

app.get('/reports', { onRequest: app.requireAccessToken('reports.read', 'profile') }, async ({ accessToken }) => {
  // @ts-expect-error accessToken may be null
  const unguarded: string | undefined = accessToken.subject
  if (accessToken === null) throw new Error('the guard is missing')
  const narrowed: AccessToken = accessToken
  const subject: string | undefined = narrowed.subject
  const mayRead: boolean = narrowed.scope.has('reports.read')
  // @ts-expect-error the set is read-only
  narrowed.scope.add('reports.write')
  return { unguarded, subject, mayRead }
})
app.get('/any', { onRequest: app.requireAccessToken({ anyOf: ['a', 'b'], challengeScope: 'a' }) }, async () => ({}))

export const requireAccessToken: RequireAccessToken = app.requireAccessToken
// @ts-expect-error a scope is a string
app.requireAccessToken(7)
// @ts-expect-error either a list of scopes or anyOf
app.requireAccessToken({ anyOf: ['a'] }, 'b')
// @ts-expect-error no credentials for introspection
await app.register(bearerPlugin, { ...basics, introspection: { url: 'http://127.0.0.1:1/introspect' } })
// @ts-expect-error no such token format
await app.register(bearerPlugin, { ...basics, introspection, tokenFormat: 'jwt' })
// @ts-expect-error an option that does not exist
await app.register(bearerPlugin, { ...basics, introspection, audience: 'reports' })
