// The same in TypeScript: only the types are looked at. Each line that must not compile says so.
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
  // @ts-expect-error without a guard there is no token, and the type cannot know
  const unguarded: string | undefined = accessToken.subject
  if (accessToken === null) throw new Error('the guard is missing')
  const narrowed: AccessToken = accessToken
  const subject: string | undefined = narrowed.subject
  const mayRead: boolean = narrowed.scope.has('reports.read')
  // @ts-expect-error the set is for reading
  narrowed.scope.add('reports.write')
  return { unguarded, subject, mayRead }
})
app.get('/any', { onRequest: app.requireAccessToken({ anyOf: ['a', 'b'], challengeScope: 'a' }) }, async () => ({}))

export const requireAccessToken: RequireAccessToken = app.requireAccessToken
// @ts-expect-error a scope is text
app.requireAccessToken(7)
// @ts-expect-error one or the other
app.requireAccessToken({ anyOf: ['a'] }, 'b')
// @ts-expect-error no credentials for introspection
await app.register(bearerPlugin, { ...basics, introspection: { url: 'http://127.0.0.1:1/introspect' } })
// @ts-expect-error no such token format
await app.register(bearerPlugin, { ...basics, introspection, tokenFormat: 'jwt' })
// @ts-expect-error an option that does not exist
await app.register(bearerPlugin, { ...basics, introspection, audience: 'reports' })
