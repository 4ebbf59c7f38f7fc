import type { DpopSession, OAuthClientProvider } from '@modelcontextprotocol/client'

/** An MCP client as a user configures it. Without `clientId` and `clientMetadataUrl` it has no way to identify itself. */
export type AgentOptions = {
  /** The URL of the MCP server as the user typed it. */
  url: string
  redirectUri: string
  clientId?: string
  clientMetadataUrl?: string
  /** Signs a proof for each request, so that the tokens are bound to its key (RFC 9449). */
  dpop?: DpopSession
  /** Opens the authorization request in the user's browser. Returns the query of the redirect. */
  authorize(request: URL): Promise<URLSearchParams>
}

export type Agent = {
  /** Connects, calls a tool, and returns the names of files in its result. Authorizes when the server requires it. */
  call(tool: string, parameters?: Record<string, string>): Promise<string[]>
  memory: AgentMemory
}

/** A library for MCP clients. */
export type Sdk = (options: AgentOptions) => Agent

type Tokens = NonNullable<Awaited<ReturnType<OAuthClientProvider['tokens']>>>

export type AgentMemory = {
  provider: OAuthClientProvider
  /** The authorization requests so far. */
  requests: URL[]
  tokens(): Tokens | undefined
}

/** The storage of a client, as the documentation of the libraries describes it. */
function createMemory({ redirectUri, clientId, clientMetadataUrl, dpop }: AgentOptions): AgentMemory {
  const requests: URL[] = []
  let client = clientId === undefined ? undefined : { client_id: clientId }
  let tokens: Tokens | undefined
  let verifier = ''
  let discovery: Parameters<NonNullable<OAuthClientProvider['saveDiscoveryState']>>[0] | undefined
  const provider: OAuthClientProvider = {
    redirectUrl: redirectUri,
    clientMetadata: { client_name: 'Agent', redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' },
    ...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
    ...(dpop !== undefined && { dpop: () => dpop }),
    state: () => `state-${requests.length}`,
    // The credentials of a registered client belong to the server that the user configured them for.
    clientInformation: (context) => client && { ...client, ...(context?.issuer && { issuer: context.issuer }) },
    saveClientInformation: (saved) => {
      client = saved
    },
    tokens: () => tokens,
    saveTokens: (saved) => {
      tokens = saved
    },
    codeVerifier: () => verifier,
    saveCodeVerifier: (saved) => {
      verifier = saved
    },
    discoveryState: () => discovery,
    saveDiscoveryState: (saved) => {
      discovery = saved
    },
    invalidateCredentials: (scope) => {
      if (scope === 'tokens' || scope === 'all') tokens = undefined
      if ((scope === 'client' || scope === 'all') && clientId === undefined) client = undefined
      if (scope === 'discovery' || scope === 'all') discovery = undefined
    },
    redirectToAuthorization: (request) => {
      requests.push(request)
    }
  }
  return { provider, requests, tokens: () => tokens }
}

/** One connection of a client library: calls the tool, or throws; `finish` redeems the code. */
export type Connection = {
  call(tool: string, parameters: Record<string, string>): Promise<object>
  isUnauthorized(error: unknown): boolean
  finish(redirect: URLSearchParams): Promise<void>
  close(): Promise<void>
}

/** The loop of the documentation: on `UnauthorizedError`, let the user decide, redeem the code, and connect again. */
export function createAgent(options: AgentOptions, open: (memory: AgentMemory) => Connection): Agent {
  const memory = createMemory(options)

  async function call(tool: string, parameters: Record<string, string>, mayAuthorize: boolean): Promise<string[]> {
    const connection = open(memory)
    try {
      return namesIn(await connection.call(tool, parameters))
    } catch (error) {
      const request = memory.requests.at(-1)
      if (!mayAuthorize || request === undefined || !connection.isUnauthorized(error)) throw error
      await connection.finish(await options.authorize(request))
    } finally {
      await connection.close()
    }
    return call(tool, parameters, false)
  }

  return { memory, call: (tool, parameters = {}) => call(tool, parameters, true) }
}

function namesIn(result: object): string[] {
  const { content } = result as { content: { text?: string }[] }
  const [{ text = '' } = {}] = content
  const { files } = JSON.parse(text) as { files: { name: string }[] }
  return files.map(({ name }) => name)
}
