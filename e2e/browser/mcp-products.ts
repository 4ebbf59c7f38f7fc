import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import type { DocumentSite } from '../support/mcp/document-site.js'
import type { GuardedMcpServer } from '../support/mcp/mcp-server.js'
import { allow, openRequest } from '../support/mcp/mcp-user.js'
import { type Behaviour, callTool, startScripted } from '../support/mcp/scripted-client.js'
import { withSdkV1 } from '../support/mcp/sdk-v1.js'
import { withSdkV2Of2025, withSdkV2Of2026 } from '../support/mcp/sdk-v2.js'
import { headingOf } from '../support/walk.js'
import type { BrowserWorld } from './browser-world.js'
import { createMcpWorld, type McpWorld } from './mcp-world.js'

const INVOICE = 'Invoice 2026-10.pdf'
let documents: DocumentSite
let creation: Promise<McpWorld> | undefined
let world: McpWorld
let bare: GuardedMcpServer
let page: Page

const NATIVE = ['http://localhost/callback', 'http://127.0.0.1/callback']
/** The scope of the challenge, else all scopes of the metadata. */
const challenged: Behaviour['scope'] = ({ challengeScope, scopesSupported }) =>
  challengeScope ?? scopesSupported.join(' ')
const verbatim: Behaviour['resource'] = ({ resource }) => resource
const loopback = (host: string, path: string) => `http://${host}:${new URL(world.site.origin).port}${path}`

/** A document like that of the product, at the path that the product uses. */
const publish = (path: string, name: string, redirectUris: readonly string[], more = {}) =>
  documents.publish(path, {
    client_name: name,
    redirect_uris: redirectUris,
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    ...more
  })

async function connect({ url }: { url: string }, behaviour: Behaviour): Promise<{ scope: string; files: string[] }> {
  const started = await startScripted(url, behaviour)
  const { access_token: token = '', scope = '' } = await started.redeem(await allow(page, started.request, world.at))
  return { scope, files: await callTool(url, token, 'list_files') }
}

function allOf({ scopesSupported }: Parameters<Behaviour['scope']>[0]): string {
  return scopesSupported.join(' ')
}

function withOffline(discovered: Parameters<Behaviour['scope']>[0]): string {
  return `${challenged(discovered)} offline_access`
}

function scopesOf(names: string): string[] {
  const { list, find } = world.mcp.scopes
  return names.split(' ').map((name) => (name === 'list' ? list : find))
}

/** The settings of the stack. The authorization server gets the documents from the site. */
export const mcpProductsSettings = (site: DocumentSite) => ({
  CLIENT_ID_METADATA: 'open',
  CLIENT_ID_METADATA_ALLOW_LOOPBACK: 'true',
  NODE_EXTRA_CA_CERTS: site.certificateFile
})

export function mcpProducts(given: BrowserWorld, site: DocumentSite): void {
  beforeAll(async () => {
    documents = site
    creation = createMcpWorld(given, { name: 'agent-files', origins: [site.origin] })
    world = await creation
    bare = await world.addServer('bare-files', '')
    page = await world.visits.open({ ignoreHTTPSErrors: true })
  })
  afterEach(() => {
    expect(world.visits.complaints()).toEqual([])
  })
  afterAll(async () => (await creation)?.close())

  describe.each([
    ['SDK v1', withSdkV1],
    ['SDK v2, protocol of 2025', withSdkV2Of2025],
    ['SDK v2, protocol of 2026', withSdkV2Of2026]
  ])('%s with a metadata document', (name, sdk) => {
    test('from a 401 to a tool call, without a registration', async () => {
      const clientMetadataUrl = publish(`/oauth/${encodeURIComponent(name.replaceAll(/\W/g, ''))}.json`, name, NATIVE)
      const { redirectUri } = world.site
      const authorize = (request: URL) => allow(page, request, world.at)
      const agent = sdk({ url: world.mcp.url, redirectUri, clientMetadataUrl, authorize })
      expect(await agent.call('list_files')).toContain(INVOICE)
      expect(agent.memory.requests[0]?.searchParams.get('client_id')).toBe(clientMetadataUrl)
    })
  })

  test('SDK v2 with a metadata document: step-up after a 403, and a new request after the end of the access', async () => {
    const clientMetadataUrl = publish('/oauth/step-up.json', 'Stepping', NATIVE)
    const authorize = (request: URL) => allow(page, request, world.at)
    const agent = withSdkV2Of2026({
      url: world.mcp.url,
      redirectUri: world.site.redirectUri,
      clientMetadataUrl,
      authorize
    })
    await agent.call('list_files')
    expect(await agent.call('find_file', { name: 'invoice' })).toEqual([INVOICE])
    await world.stack.valetkey(['grants', 'revoke', '--client', clientMetadataUrl, '--yes'])
    expect(await agent.call('list_files')).toContain(INVOICE)
    expect(agent.memory.requests).toHaveLength(3)
  })

  describe('clients that behave like products, from a 401 to a tool call', () => {
    test.each([
      { name: 'the scope of the challenge', scope: challenged, gets: 'list' },
      { name: 'no scope', scope: () => undefined, gets: 'list' },
      { name: 'all scopes of the metadata', scope: allOf, gets: 'list find' },
      { name: 'offline_access as well', scope: withOffline, gets: 'list' }
    ])('Claude Code, with $name: its document lists loopback without a port', async ({ scope, gets }) => {
      const clientId = publish('/oauth/claude-code-client-metadata', 'Claude Code', NATIVE)
      const redirectUri = loopback('localhost', '/callback')
      const outcome = await connect(world.mcp, { identify: () => clientId, redirectUri, scope, resource: verbatim })
      expect(outcome.files).toContain(INVOICE)
      expect(outcome.scope.split(' ').sort()).toEqual(scopesOf(gets).sort())
    })

    test('claude.ai: an https redirect, and the URL of the server without the last slash that the user typed', async () => {
      const redirectUri = `${documents.origin}/api/mcp/auth_callback`
      const clientId = publish('/oauth/claude-ai', 'Claude', [redirectUri])
      const typed = `${bare.url}/`
      const url = typed.replace(/\/$/, '')
      const behaviour = { identify: () => clientId, redirectUri, scope: challenged, resource: () => url }
      expect((await connect({ url }, behaviour)).files).toContain(INVOICE)
    })

    test.each([
      { name: 'another loopback port', redirect: () => loopback('127.0.0.1', '/') },
      { name: 'its web site', redirect: () => `${documents.origin}/redirect` }
    ])('VS Code, redirected to $name: its document lists a device grant', async ({ redirect }) => {
      const uris = ['http://127.0.0.1:33418/', `${documents.origin}/redirect`]
      const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'
      const clientId = publish('/oauth/client-metadata.json', 'Visual Studio Code', uris, {
        grant_types: ['authorization_code', 'refresh_token', deviceGrant]
      })
      const outcome = await connect(bare, {
        identify({ acceptsDocuments }) {
          if (!acceptsDocuments) throw new Error('VS Code asks the user for a client id')
          return clientId
        },
        redirectUri: redirect(),
        scope: challenged,
        resource: ({ resource }) => resource.replace(/\/$/, '')
      })
      expect(outcome.files).toContain(INVOICE)
    })

    test('Cursor: registered, with a loopback redirect', async () => {
      const clientId = await world.register([world.mcp.scopes.list])
      const redirectUri = loopback('127.0.0.1', '/callback')
      const behaviour = { identify: () => clientId, redirectUri, scope: challenged, resource: verbatim }
      expect((await connect(world.mcp, behaviour)).files).toContain(INVOICE)
    })

    test('opencode: its document lacks the path of its redirect: an error page; registered: a tool call', async () => {
      const redirectUri = loopback('127.0.0.1', '/mcp/oauth/callback')
      const behaviour = { redirectUri, scope: challenged, resource: verbatim }
      const document = publish('/oauth/opencode/client.json', 'opencode', NATIVE)
      const { request } = await startScripted(world.mcp.url, { ...behaviour, identify: () => document })
      await openRequest(page, request, world.at)
      expect(await headingOf(page)).toBe('This app sent a wrong return address')
      expect(new URL(page.url()).origin).toBe(world.at.issuer)

      const uri = ['--redirect-uri', 'http://127.0.0.1/mcp/oauth/callback']
      const clientId = await world.register([world.mcp.scopes.list], ...uri)
      expect((await connect(world.mcp, { ...behaviour, identify: () => clientId })).files).toContain(INVOICE)
    })

    test('a client that parses the identifier as a URL, with a slash after the host', async () => {
      const clientId = await world.register([bare.scopes.list])
      const redirectUri = world.site.redirectUri
      const resource: Behaviour['resource'] = ({ resource: identifier }) => new URL(identifier).href
      const outcome = await connect(bare, { identify: () => clientId, redirectUri, scope: challenged, resource })
      expect(outcome.files).toContain(INVOICE)
    })
  })
}
