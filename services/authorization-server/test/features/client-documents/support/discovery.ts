import { afterAll, beforeAll, jest } from '@jest/globals'
import type { Logger } from '@valetkey/service-kit'
import type { LightMyRequestResponse } from 'fastify'
import type { Feature } from '../../../../src/feature.js'
import {
  clientDocuments,
  createClientDocumentsFeature,
  type ReachHosts
} from '../../../../src/features/client-documents/client-documents-feature.js'
import { clientKeys, createClientKeysFeature } from '../../../../src/features/client-keys/client-keys-feature.js'
import { FEATURES } from '../../../../src/features.js'
import { resolveHost } from '../../../../src/platform/fetch/resolve-host.js'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import type { Browser, Page } from '../../../support/browser.js'
import { PKCE, VERIFIER } from '../../../support/codes.js'
import { type DocumentServer, startDocumentServer } from '../../../support/document-server.js'
import { authorizeUrl, PASSWORD, post, responseParameters } from '../../../support/flow.js'
import { signedInBrowser } from '../../../support/pages.js'

export const APP_CALLBACK = 'https://boat.example/callback'

export type DiscoveryWorld = { server: TestServer; documents: DocumentServer; close(): Promise<void> }

/** Starts it before the tests of a file, and closes it afterwards. */
export function useDiscovery(settings: Record<string, string> = {}): DiscoveryWorld {
  const world = {} as DiscoveryWorld
  beforeAll(async () => {
    Object.assign(world, await startDiscovery(settings))
  })
  afterAll(() => world.close())
  return world
}

/** An authorization server that accepts documents of a server on the loopback interface, with the user alice. */
async function startDiscovery(
  settings: Record<string, string> = {},
  { documents, logger }: { documents?: DocumentServer; logger?: Logger } = {}
): Promise<DiscoveryWorld> {
  const published = documents ?? (await startDocumentServer())
  const features = featuresReaching({ resolve: resolveHost, ca: published.ca })
  // A slow machine does not end a fetch; tests of the limit use `fetchDocument`.
  const limit = jest.spyOn(AbortSignal, 'timeout').mockImplementation(() => new AbortController().signal)
  const server = await startTestServer(
    { CLIENT_ID_METADATA: 'open', CLIENT_ID_METADATA_ALLOW_LOOPBACK: 'true', ...settings },
    logger,
    features
  )
  await server.createUser('alice', PASSWORD)
  await server.createScope('notes.read', { isDiscoverable: true, isDefault: true })
  await server.createScope('notes.write', { isDiscoverable: true })
  await server.createScope('notes.delete')
  return {
    server,
    documents: published,
    async close() {
      await server.close()
      limit.mockRestore()
      if (documents === undefined) await published.close()
    }
  }
}

/** All features, with another way to reach the hosts of documents. */
export function featuresReaching(reach: ReachHosts): readonly Feature[] {
  const reaching = new Map<Feature, Feature>([
    [clientDocuments, createClientDocumentsFeature(reach)],
    [clientKeys, createClientKeysFeature(reach)]
  ])
  return FEATURES.map((feature) => reaching.get(feature) ?? feature)
}

export function requestOf(clientId: string, change: Record<string, string | undefined> = {}): string {
  return authorizeUrl(clientId, { redirect_uri: APP_CALLBACK, scope: 'notes.read', ...PKCE, ...change })
}

/** Opens the request in the browser of a signed-in user. */
export async function openRequest(
  { server }: Pick<DiscoveryWorld, 'server'>,
  clientId: string,
  change: Record<string, string | undefined> = {}
): Promise<{ browser: Browser; page: Page }> {
  const browser = await signedInBrowser(server)
  return { browser, page: await browser.open(requestOf(clientId, change)) }
}

/** Allows the request of a signed-in user and exchanges the code. */
export async function tokensFor(
  world: Pick<DiscoveryWorld, 'server'>,
  clientId: string,
  change: Record<string, string | undefined> = {}
): Promise<LightMyRequestResponse> {
  const code = await codeFor(world, clientId, change)
  return exchangeOf(world, clientId, code, change.redirect_uri ?? APP_CALLBACK)
}

/** Allows the request of a signed-in user. */
export async function codeFor(
  world: Pick<DiscoveryWorld, 'server'>,
  clientId: string,
  change: Record<string, string | undefined> = {}
): Promise<string> {
  const { browser, page } = await openRequest(world, clientId, change)
  const { code = '' } = responseParameters(await browser.submitOnly(page, { decision: 'allow' }))
  return code
}

export function exchangeOf(
  { server }: Pick<DiscoveryWorld, 'server'>,
  clientId: string,
  code: string,
  redirectUri = APP_CALLBACK
): Promise<LightMyRequestResponse> {
  return exchangeWith({ server }, code, { client_id: clientId }, redirectUri)
}

export function refreshOf(
  { server }: Pick<DiscoveryWorld, 'server'>,
  clientId: string,
  refreshToken: string
): Promise<LightMyRequestResponse> {
  return refreshWith({ server }, refreshToken, { client_id: clientId })
}

/** What authenticates the client of a request: its id, or an assertion. */
type Credentials = Readonly<Record<string, string>>

/** @param redirectUri of the authorization request */
export function exchangeWith(
  { server }: Pick<DiscoveryWorld, 'server'>,
  code: string,
  credentials: Credentials,
  redirectUri = APP_CALLBACK
): Promise<LightMyRequestResponse> {
  const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: VERIFIER }
  return post(server, '/token', { ...grant, ...credentials })
}

export function refreshWith(
  { server }: Pick<DiscoveryWorld, 'server'>,
  refreshToken: string,
  credentials: Credentials
): Promise<LightMyRequestResponse> {
  return post(server, '/token', { grant_type: 'refresh_token', refresh_token: refreshToken, ...credentials })
}

/** The rows of discovered clients. */
export async function discoveredRows({ server }: Pick<DiscoveryWorld, 'server'>): Promise<Record<string, unknown>[]> {
  const text = `select client_id, name, redirect_uris, refresh_token_max_ttl from clients where origin = 'discovered' order by 1`
  return server.database.query({ name: 'test_discovered_rows', text, values: [] })
}
