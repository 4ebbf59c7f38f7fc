// The types; it is only compiled. Lines that must not compile are marked.
import {
  type AccessToken,
  buildIntrospector,
  createGuard,
  type Guard,
  type GuardOptions,
  type Outcome
} from '@valetkey/guard'
import { bearerPlugin, type RequireAccessToken } from '@valetkey/guard/fastify'
import { type AuthInfo, toAuthInfo, tokenVerifier } from '@valetkey/guard/mcp'
import { accessTokenOf, requireAccessToken as guardRoute, type Middleware } from '@valetkey/guard/node'
import { checkRequest, protect, toResponse } from '@valetkey/guard/web'
import { fastify } from 'fastify'

const introspection = { url: 'http://127.0.0.1:1/introspect', clientId: 'reports', clientSecret: 'secret' }
const basics = {
  issuer: 'https://auth.example',
  resource: 'https://reports.example',
  scopesSupported: ['reports.read']
}
const guard: Guard = createGuard({ ...basics, introspection, tokenFormat: 'any', anyOrigin: true })

const app = fastify()
await app.register(bearerPlugin, { guard })
await app.register(bearerPlugin, { ...basics, introspection: buildIntrospector(introspection), tokenFormat: 'any' })

app.get('/reports', { onRequest: app.requireAccessToken('reports.read', 'profile') }, async ({ accessToken }) => {
  const token: AccessToken = accessToken
  const subject: string | undefined = token.subject
  const mayRead: boolean = token.scope.has('reports.read')
  // @ts-expect-error the set is read-only
  token.scope.add('reports.write')
  return { subject, mayRead }
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
// @ts-expect-error an option with a wrong value
const wrong: GuardOptions = { ...basics, introspection, audience: 'reports' }

export const middleware: Middleware = (request, response, next) => {
  guardRoute(guard, { anyOf: ['a', 'b'] })(request, response, () => {
    const token: AccessToken = accessTokenOf(request)
    const info: AuthInfo = toAuthInfo(token, 'abc')
    if (info.clientId !== '') next()
  })
}
// @ts-expect-error a guard is required
guardRoute('reports.read')

export const GET = protect(guard, ['a'], (request: Request & { extra?: 1 }, token, context: { params: string[] }) => {
  const subject: string | undefined = token.subject
  return Response.json({ subject, params: context.params, extra: request.extra })
})
// @ts-expect-error Next passes a context as well
await GET(new Request('https://reports.example'))
export const answer: Response = await GET(new Request('https://reports.example'), { params: [] })

export async function ownerOf(request: Request): Promise<string | undefined | Response> {
  const outcome: Outcome = await checkRequest(guard, request, ['a'])
  // @ts-expect-error only an accepted request has a token
  const unguarded = outcome.accessToken
  return outcome.kind === 'accepted' ? outcome.accessToken.subject : (unguarded ?? toResponse(outcome))
}
export const { verifyAccessToken } = tokenVerifier(guard, (message) => new RangeError(message))
// @ts-expect-error the SDK checks the scopes
tokenVerifier(guard, (message) => new RangeError(message), ['a'])

export { wrong }
