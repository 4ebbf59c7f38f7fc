import { createHash, randomBytes } from 'node:crypto'

/** What an MCP client sees before it asks the user. */
type Discovered = {
  challengeScope: string | undefined
  resource: string
  scopesSupported: readonly string[]
  issuer: string
  acceptsDocuments: boolean
}

/** How a product behaves where products differ. */
export type Behaviour = {
  /** The client id: of its registration, or the URL of its document. */
  identify(discovered: Discovered): string
  redirectUri: string
  /** The `scope` parameter; undefined: none. */
  scope(discovered: Discovered): string | undefined
  /** The `resource` parameter. */
  resource(discovered: Discovered): string
}

type Metadata = Readonly<Record<string, unknown>>

/** The authorization request of a client that got a 401, and what it needs for the code. */
export type Started = { request: URL; redeem(redirect: URLSearchParams): Promise<Record<string, string>> }

/** Goes from a 401 to the authorization request, step by step as in the MCP specification, without a library. */
export async function startScripted(url: string, behaviour: Behaviour): Promise<Started> {
  const { discovered, server } = await discover(url)
  const { redirectUri } = behaviour
  const clientId = behaviour.identify(discovered)
  const scope = behaviour.scope(discovered)
  const resource = behaviour.resource(discovered)
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(16).toString('base64url')
  const request = new URL(String(server.authorization_endpoint))
  request.search = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    resource,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...(scope !== undefined && { scope })
  }).toString()

  return {
    request,
    async redeem(redirect) {
      if (redirect.get('state') !== state) throw new Error(`Wrong state: ${redirect}`)
      if (redirect.get('iss') !== discovered.issuer) throw new Error(`Wrong issuer: ${redirect}`)
      const body = new URLSearchParams({
        grant_type: 'authorization_code',
        code: redirect.get('code') ?? '',
        redirect_uri: redirectUri,
        client_id: clientId,
        code_verifier: verifier,
        resource
      })
      return readJson(await fetch(String(server.token_endpoint), { method: 'POST', body }))
    }
  }
}

/** The names of files in the result of a tool. */
export async function callTool(url: string, accessToken: string, name: string): Promise<string[]> {
  const response = await post(url, 'tools/call', { name, arguments: {} }, accessToken)
  const event = /^data: (.*)$/m.exec(await response.text())?.[1] ?? '{}'
  const { result } = JSON.parse(event) as { result?: { content: { text: string }[] } }
  const { files = [] } = JSON.parse(result?.content[0]?.text ?? '{}') as { files?: { name: string }[] }
  return files.map((file) => file.name)
}

async function discover(url: string): Promise<{ discovered: Discovered; server: Metadata }> {
  const refused = await post(url, 'initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'scripted', version: '1.0.0' }
  })
  const challenge = refused.headers.get('www-authenticate') ?? ''
  if (refused.status !== 401) throw new Error(`Not a 401: ${refused.status}`)
  const parameter = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(challenge)?.[1]
  const api = await readMetadata(parameter('resource_metadata') ?? '')
  const [issuer = ''] = api.authorization_servers as string[]
  const server = await readMetadata(`${issuer}/.well-known/oauth-authorization-server`)
  if (server.issuer !== issuer) throw new Error(`Another issuer: ${server.issuer}`)
  const discovered = {
    challengeScope: parameter('scope'),
    resource: String(api.resource),
    scopesSupported: api.scopes_supported as string[],
    issuer,
    acceptsDocuments: server.client_id_metadata_document_supported === true
  }
  return { discovered, server }
}

async function readMetadata(url: string): Promise<Metadata> {
  return readJson(await fetch(url, { headers: { 'mcp-protocol-version': '2025-11-25' } }))
}

async function readJson<Document>(response: Response): Promise<Document> {
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${text}`)
  return JSON.parse(text) as Document
}

function post(url: string, method: string, params: object, accessToken?: string): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` })
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  })
}
