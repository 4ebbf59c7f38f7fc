import type { Check } from '../check.js'
import { firstTokens } from '../grant.js'
import { parseObject, wellKnownUrl } from '../metadata.js'
import { CouldNotTest, failed, NotApplicable, type Outcome, verdict } from '../outcome.js'
import type { Resource, Session } from '../session.js'

const MCP = { level: 'MUST', profiles: ['mcp', 'valetkey'], needs: ['resource'] } as const

function resourceOf({ resource }: Session): Resource {
  if (resource === undefined) throw new NotApplicable('needs --resource URI')
  return resource
}

/** The metadata of the resource (RFC 9728 §3.1). */
function readResourceMetadata(session: Session): Promise<{ status: number; document: Record<string, unknown> }> {
  return session.once('resource metadata', async () => {
    const url = wellKnownUrl(resourceOf(session).identifier, 'oauth-protected-resource')
    const { status, body } = await session.send({ method: 'GET', url, headers: { accept: 'application/json' } })
    return { status, document: (status === 200 ? parseObject(body) : undefined) ?? {} }
  })
}

function call(session: Session, headers: Record<string, string>, query: Record<string, string> = {}) {
  const url = new URL(resourceOf(session).endpoint)
  for (const [name, value] of Object.entries(query)) url.searchParams.append(name, value)
  return session.send({ method: 'GET', url: url.href, headers: { accept: 'application/json', ...headers } })
}

/** How an API and its authorization server fit together. */
export const resourceChecks: readonly Check[] = [
  {
    id: 'resource-metadata',
    title: 'the metadata of the resource names exactly this resource',
    section: 'RFC 9728 §3.3',
    ...MCP,
    hint: 'Serve it at /.well-known/oauth-protected-resource, before the path of the resource.',
    async run(session) {
      const { identifier } = resourceOf(session)
      const { status, document } = await readResourceMetadata(session)
      return verdict(
        document.resource === identifier,
        `status ${status}, resource ${JSON.stringify(document.resource)}`
      )
    }
  },
  {
    id: 'resource-authorization-servers',
    title: 'the metadata of the resource names this issuer',
    section: 'RFC 9728 §2',
    ...MCP,
    hint: 'authorization_servers has the issuer, character by character.',
    async run(session) {
      const { authorization_servers: servers } = (await readResourceMetadata(session)).document
      const isNamed = Array.isArray(servers) && servers.includes(session.issuer)
      return verdict(isNamed, `authorization_servers is ${JSON.stringify(servers)}`)
    }
  },
  {
    id: 'resource-challenge',
    title: 'a call without a token is 401 with WWW-Authenticate: Bearer and resource_metadata',
    section: 'RFC 9728 §5.1',
    ...MCP,
    level: 'SHOULD',
    hint: 'MCP clients find the authorization server by resource_metadata.',
    async run(session) {
      const { status, headers } = await call(session, {})
      const challenge = headers.get('www-authenticate') ?? 'missing'
      const isRight = status === 401 && /\bbearer\b/i.test(challenge) && /\bresource_metadata="[^"]+"/.test(challenge)
      return verdict(isRight, `status ${status}, WWW-Authenticate ${challenge}`)
    }
  },
  {
    id: 'resource-unknown-token',
    title: 'a call with an unknown token is 401 invalid_token',
    section: 'RFC 6750 §3.1',
    ...MCP,
    hint: 'Clients refresh on this error.',
    async run(session) {
      const { status, headers } = await call(session, { authorization: 'Bearer conformance-unknown-token' })
      const challenge = headers.get('www-authenticate') ?? 'missing'
      const isRight = status === 401 && challenge.includes('error="invalid_token"')
      return verdict(isRight, `status ${status}, WWW-Authenticate ${challenge}`)
    }
  },
  {
    id: 'resource-token-in-query',
    title: 'an access token in the query is not accepted',
    section: 'RFC 9700 §4.3.2',
    ...MCP,
    level: 'SHOULD',
    needs: ['client', 'sign-in', 'resource'],
    hint: 'Read tokens from the Authorization header only; URLs are logged.',
    run: (session) => evaluateTokenInQuery(session)
  }
]

async function evaluateTokenInQuery(session: Session): Promise<Outcome> {
  const { accessToken } = await firstTokens(session)
  const inHeader = await call(session, { authorization: `Bearer ${accessToken}` })
  // Otherwise a refusal of the query would say nothing.
  if (inHeader.status === 401 || inHeader.status === 403) {
    throw new CouldNotTest(`the resource server responded with ${inHeader.status} to the token in the header`)
  }
  const { status } = await call(session, {}, { access_token: accessToken })
  return status === 400 || status === 401 ? verdict(true, '') : failed(`status is ${status}`)
}
