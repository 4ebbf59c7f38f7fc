import { expect, test } from '@jest/globals'
import type { Client } from '../src/client.js'
import { type AccessCatalogue, evaluateRequestedAccess } from '../src/requested-access.js'
import { CLIENT } from './authorization-fixture.js'

const FILES = 'https://files.example'
const REPORTS = 'https://reports.example/api'
const PHOTOS = 'https://photos.example'

const CATALOGUE: AccessCatalogue = {
  defaultAudience: FILES,
  audiences: [FILES, REPORTS, PHOTOS],
  scopes: [
    { name: 'files.read', audience: undefined, isDefault: false },
    { name: 'files.write', audience: FILES, isDefault: false },
    { name: 'reports.read', audience: REPORTS, isDefault: true },
    { name: 'reports.write', audience: REPORTS, isDefault: false },
    { name: 'reports.export', audience: REPORTS, isDefault: true },
    { name: 'photos.read', audience: PHOTOS, isDefault: true },
    { name: 'orphans.read', audience: 'https://deleted.example', isDefault: true }
  ]
}
const ALL = CATALOGUE.scopes.map(({ name }) => name)

type Case = {
  name: string
  scope?: string
  resource?: string
  client?: Partial<Client>
  catalogue?: Partial<AccessCatalogue>
}

const evaluate = ({ scope, resource, client, catalogue }: Case) =>
  evaluateRequestedAccess(
    { scope, resource },
    { ...CLIENT, requiredScopes: ALL, optionalScopes: [], ...client },
    { ...CATALOGUE, ...catalogue }
  )

test.each<Case & { audience: string; granted: readonly string[] }>([
  { name: 'one scope', scope: 'reports.read', audience: REPORTS, granted: ['reports.read'] },
  { name: 'a scope without audience', scope: 'files.read', audience: FILES, granted: ['files.read'] },
  {
    name: 'scopes with and without audience of the default API',
    scope: 'files.write files.read',
    audience: FILES,
    granted: ['files.write', 'files.read']
  },
  {
    name: 'resource and its scopes',
    scope: 'reports.write reports.read',
    resource: REPORTS,
    audience: REPORTS,
    granted: ['reports.write', 'reports.read']
  },
  { name: 'resource alone', resource: REPORTS, audience: REPORTS, granted: ['reports.read', 'reports.export'] },
  {
    name: 'resource alone, and the client has one of the default scopes',
    resource: REPORTS,
    client: { requiredScopes: ['files.read'], optionalScopes: ['reports.write', 'reports.export'] },
    audience: REPORTS,
    granted: ['reports.export']
  },
  {
    name: 'neither, and the default API has default scopes',
    catalogue: { defaultAudience: PHOTOS },
    audience: PHOTOS,
    granted: ['photos.read']
  },
  {
    name: 'resource with the slash that a parser adds: the audience is as registered',
    resource: `${PHOTOS}/`,
    scope: 'photos.read',
    audience: PHOTOS,
    granted: ['photos.read']
  },
  {
    name: 'a default API in another spelling than registered: the audience is as registered',
    scope: 'photos.read',
    catalogue: { defaultAudience: `${PHOTOS}:443/` },
    audience: PHOTOS,
    granted: ['photos.read']
  },
  {
    name: 'a default API that is not registered',
    scope: 'files.read files.write',
    resource: `${FILES}/`,
    catalogue: { audiences: [] },
    audience: FILES,
    granted: ['files.read', 'files.write']
  },
  {
    name: 'a client limited to the API, in another spelling',
    scope: 'photos.read',
    client: { audiences: ['HTTPS://photos.example/'] },
    audience: PHOTOS,
    granted: ['photos.read']
  },
  { name: 'a scope twice', scope: 'photos.read photos.read', audience: PHOTOS, granted: ['photos.read'] }
])('requested access: $name (RFC 6749 §3.3, RFC 8707 §2)', ({ audience, granted, ...given }) => {
  expect(evaluate(given)).toEqual({ kind: 'requested', audience, scope: granted })
})

const DESCRIPTION = /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/

test.each<Case & { error: string; names?: string }>([
  {
    name: 'a scope that is not in the catalogue',
    scope: 'gone',
    client: { requiredScopes: ['gone'] },
    error: 'invalid_scope'
  },
  {
    name: "another client's scope",
    scope: 'photos.read',
    client: { requiredScopes: ['files.read'] },
    error: 'invalid_scope'
  },
  { name: 'scopes of two APIs', scope: 'reports.read files.read', error: 'invalid_scope', names: FILES },
  {
    name: 'scopes of two APIs, one of them the default',
    scope: 'files.read photos.read',
    error: 'invalid_scope',
    names: PHOTOS
  },
  {
    name: 'a scope of another API than resource',
    scope: 'photos.read',
    resource: REPORTS,
    error: 'invalid_scope',
    names: PHOTOS
  },
  {
    name: 'one scope of resource and one of another API',
    scope: 'reports.read files.read',
    resource: REPORTS,
    error: 'invalid_scope',
    names: FILES
  },
  { name: 'neither, and the default API has no default scope', error: 'invalid_scope', names: FILES },
  {
    name: 'resource alone, and its default scopes are not those of the client',
    resource: REPORTS,
    client: { requiredScopes: ['reports.write'] },
    error: 'invalid_scope',
    names: REPORTS
  },
  { name: 'an unknown resource', scope: 'files.read', resource: 'https://evil.example', error: 'invalid_target' },
  {
    name: 'a resource with a slash after its path',
    scope: 'reports.read',
    resource: `${REPORTS}/`,
    error: 'invalid_target'
  },
  {
    name: 'a scope of an API that is not registered, by resource',
    scope: 'orphans.read',
    resource: 'https://deleted.example',
    error: 'invalid_target'
  },
  {
    name: 'a resource of no scope of the client',
    resource: PHOTOS,
    client: { requiredScopes: ['files.read'] },
    error: 'invalid_target',
    names: PHOTOS
  },
  {
    name: 'a resource that the client is not limited to',
    scope: 'photos.read',
    resource: PHOTOS,
    client: { audiences: [REPORTS] },
    error: 'invalid_target',
    names: PHOTOS
  },
  {
    name: 'a scope of an API that the client is not limited to',
    scope: 'photos.read',
    client: { audiences: [REPORTS] },
    error: 'invalid_scope',
    names: PHOTOS
  },
  { name: 'a client without scopes', client: { requiredScopes: [] }, error: 'invalid_scope', names: FILES }
])(
  'requested access: $name is $error, naming the API (RFC 6749 §4.1.2.1, RFC 8707 §2)',
  ({ error, names = '', ...given }) => {
    const refusal = evaluate(given)
    expect(refusal).toEqual({ kind: 'refused', error, description: expect.stringMatching(DESCRIPTION) })
    expect(refusal).toMatchObject({ description: expect.stringContaining(names) })
  }
)

test.each([
  { name: 'beside a scope', scope: 'reports.write offline_access', granted: ['reports.write'] },
  {
    name: 'alone, for the API of resource',
    scope: 'offline_access',
    resource: REPORTS,
    granted: ['reports.read', 'reports.export']
  }
])('offline_access of a discovered client is ignored: $name', ({ scope, resource, granted }) => {
  const client: Client = { ...CLIENT, requiredScopes: [], optionalScopes: ALL, isDiscovered: true }
  expect(evaluateRequestedAccess({ scope, resource }, client, CATALOGUE)).toMatchObject({
    kind: 'requested',
    scope: granted
  })
  const registered = { ...client, isDiscovered: undefined }
  expect(evaluateRequestedAccess({ scope, resource }, registered, CATALOGUE)).toMatchObject({ error: 'invalid_scope' })
})

test('offline_access of a discovered client counts if the operator offers a scope with this name', () => {
  const offline = { name: 'offline_access', audience: undefined, isDefault: false }
  const client: Client = {
    ...CLIENT,
    requiredScopes: [],
    optionalScopes: [...ALL, 'offline_access'],
    isDiscovered: true
  }
  const catalogue = { ...CATALOGUE, scopes: [...CATALOGUE.scopes, offline] }
  const sent = { scope: 'files.read offline_access', resource: undefined }
  expect(evaluateRequestedAccess(sent, client, catalogue)).toMatchObject({ scope: ['files.read', 'offline_access'] })
})
