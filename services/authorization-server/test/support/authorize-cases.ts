import { ISSUER, startTestServer } from './authorization-server.js'
import { authorizeUrl } from './flow.js'
import { overTheWire, type RawAnswer } from './over-the-wire.js'

type Kind = 'plain' | 'pkce' | 'public'

/** A request: a valid one of a client of this kind, with other parameters, and with text after it. */
export type AuthorizeCase = {
  name: string
  client?: Kind
  change?: Record<string, string | undefined>
  appended?: string
}

export const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
export const S256 = { code_challenge: CHALLENGE, code_challenge_method: 'S256' }
export const OTHER_AUDIENCE = 'https://photos.example/api'

/** A server with two APIs and a client of each kind. */
export async function openAuthorizeCases() {
  const server = await startTestServer()
  const send = await overTheWire(server.publicServer)
  await server.createResourceServer()
  await server.createResourceServer(OTHER_AUDIENCE)
  await server.createScope('photos.read', { audience: OTHER_AUDIENCE, isDefault: true })
  const scopes = { requiredScopes: ['files.read'], optionalScopes: ['files.read:images', 'photos.read'] }
  const idOf = async (change: object) => (await server.createClient({ ...scopes, ...change })).clientId
  const clientIds: Record<Kind, string> = {
    plain: await idOf({}),
    pkce: await idOf({ requiresPkce: true }),
    public: await idOf({ type: 'public', requiresPkce: false })
  }
  return {
    server,
    send,
    /** Sends the request as it is, byte by byte. */
    authorize: ({ client = 'plain', change = {}, appended = '' }: AuthorizeCase): Promise<RawAnswer> =>
      send(authorizeUrl(clientIds[client], change).slice(ISSUER.length) + appended),
    close: () => server.close()
  }
}

export type AuthorizeCases = Awaited<ReturnType<typeof openAuthorizeCases>>
