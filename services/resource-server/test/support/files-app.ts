import { randomBytes } from 'node:crypto'
import type { IntrospectionResult } from '@valetkey/guard'
import { expiryBucket, newOpaqueAccessToken } from '@valetkey/oauth-protocol'
import { buildLogger, type HealthChecks } from '@valetkey/service-kit'
import type { InjectOptions } from 'fastify'
import { type App, type AppDeps, type AppOptions, buildApp } from '../../src/app.js'
import { createServerMetrics } from '../../src/platform/metrics/server-metrics.js'
import type { FilePage, FileQuery } from '../../src/storage/file-record.js'
import { expectDocumented } from './documented-responses.js'

export const RESOURCE = 'https://files.example'
export const authorization = `Bearer ${newOpaqueAccessToken(expiryBucket(new Date(Date.now() + 3_600_000)), randomBytes)}`
export const live = {
  active: true as const,
  scope: new Set(['files.read']),
  audience: [RESOURCE],
  subject: 'alice',
  clientId: 'printer',
  issuer: 'https://auth.example',
  tokenType: 'Bearer',
  expiresAt: new Date(Date.now() + 3_600_000),
  tokenId: 'token-1',
  grantId: 'grant-1',
  isSenderConstrained: false
} satisfies IntrospectionResult

export const PAGE_TOKEN_KEY = 'k'.repeat(32)

/** Files as the store returns them: JSON and position. */
export const stored = Array.from({ length: 5 }, (_, index) => {
  const fileId = `0197f0a1-2b3c-7d4e-8f50-00000000000${index}`
  const createdAt = new Date(Date.UTC(2026, 9, 31 - index))
  const json =
    `{"id":"${fileId}","name":"file ${index}.txt","mime_type":"text/plain","size":${2n ** 53n + BigInt(index)},` +
    `"created_at":"${createdAt.toISOString()}","modified_at":"2026-11-01T00:00:00.00${index}Z"}`
  return { fileId, createdAt, json }
})

let app: App | undefined

/** Closes the app in `afterEach`. */
export async function closeApp(): Promise<void> {
  await app?.publicServer.close()
  await app?.operatorServer.close()
  app = undefined
}

type Change = {
  introspect?: () => Promise<IntrospectionResult>
  list?: (query: FileQuery) => Promise<FilePage>
  resourceUrl?: string
  pageTokenKeys?: readonly string[]
  dpop?: 'allowed' | 'required'
  dpopNonces?: 'off' | 'required'
  now?: () => Date
  health?: HealthChecks
  activity?: AppOptions['activity']
  choose?: AppDeps['choose']
}

const refuse = () => Promise.reject(new Error('this test chooses no files'))
/** Of tests that open no page for choosing files. */
const NO_CHOICES: AppDeps['choose'] = {
  handOvers: { start: refuse, finish: refuse },
  selections: { open: refuse, mark: refuse, count: refuse, publish: refuse, replace: refuse, remove: refuse },
  shownFiles: { page: refuse, found: refuse, folders: refuse },
  keys: [PAGE_TOKEN_KEY]
}

/** The real app with a fake introspector and a fake store. */
export function build({
  introspect = async () => live,
  list = listFrom(stored),
  resourceUrl = RESOURCE,
  pageTokenKeys = [PAGE_TOKEN_KEY],
  dpop,
  dpopNonces = 'off',
  now = () => new Date(),
  health = { postgres: async () => {}, introspection: introspect },
  activity,
  choose = NO_CHOICES
}: Change = {}): App {
  app = buildApp(
    {
      issuer: 'https://auth.example',
      resourceUrl,
      trustedProxies: [],
      dpop: dpop ?? 'off',
      dpopNonces,
      pageTokenKeys,
      activity,
      logger: buildLogger('test', 'silent')
    },
    {
      watched: createServerMetrics(),
      introspector: { introspect, close: async () => {} },
      files: { files: { list }, pageTokenKeys },
      choose,
      now,
      health
    }
  )
  return app
}

function listFrom(files: typeof stored) {
  return async ({ after, limit }: FileQuery): Promise<FilePage> => {
    const start = files.findIndex((file) => file.fileId === after?.fileId) + 1
    const page = files.slice(start, start + limit)
    const isLast = start + limit >= files.length
    return {
      filesJson: page.map((file) => file.json).join(','),
      count: page.length,
      next: isLast ? undefined : page.at(-1)
    }
  }
}

export const EMPTY_PAGE: FilePage = { filesJson: '', count: 0, next: undefined }

/** Checks every response against the OpenAPI document. */
export async function send(options: InjectOptions & { url: string }) {
  const { publicServer } = app ?? build()
  const response = await publicServer.inject(options)
  expectDocumented(publicServer, options, response)
  return response
}

export const get = (url: string, headers: Record<string, string> = { authorization }) => send({ url, headers })
