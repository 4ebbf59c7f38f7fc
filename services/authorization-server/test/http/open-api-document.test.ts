import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { OAUTH_ERROR_STATUS } from '@valetkey/oauth-protocol'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { readOpenApiDocument } from '../../src/http/open-api-document.js'
import { ISSUER, startTestServer, type TestServer } from '../support/authorization-server.js'
import { exchange, introspect, obtainCode, PASSWORD, post } from '../support/flow.js'

type Document = {
  servers: { url: string }[]
  paths: Record<string, Record<string, { operationId: string; responses: Record<string, object> }>>
  components: { schemas: Record<string, { properties: object; enum?: string[] }> }
}

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const BASE = new URL(ISSUER).pathname.replace(/\/$/, '')

const stored = (document: 'public' | 'internal') => readOpenApiDocument({ document, issuer: ISSUER }) as Document

/** Whether a value has the shape of a schema of the document, and no member that the schema lacks. */
function conforms(document: Document, name: string, value: object): boolean {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'document', ...document })
  const isValid = ajv.validate({ $ref: `document#/components/schemas/${name}` }, value)
  const known = Object.keys(document.components.schemas[name]?.properties ?? {})
  return isValid && Object.keys(value).every((member) => known.includes(member))
}

describe.each(['public', 'internal'] as const)('the document of the %s listener', (listener) => {
  test('breaks no recommended rule', async () => {
    const { createConfig, lintFromString } = await import('@redocly/openapi-core')
    const config = await createConfig({ extends: ['recommended'] })
    const source = JSON.stringify(readOpenApiDocument({ document: listener, issuer: 'https://auth.example.org' }))
    const problems = await lintFromString({ source, absoluteRef: `${listener}.json`, config })
    expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([])
  })

  test('is served, with the issuer of this service', async () => {
    const target = listener === 'public' ? server.publicServer : server.internalServer
    const answer = await target.inject({ url: `${listener === 'public' ? BASE : ''}/openapi.json` })
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
    expect(answer.json()).toEqual(stored(listener))
    expect(answer.body).not.toContain('auth.example.org')
  })

  test('describes existing routes', () => {
    const target = listener === 'public' ? server.publicServer : server.internalServer
    const base = listener === 'public' ? BASE : ''
    for (const [path, methods] of Object.entries(stored(listener).paths)) {
      const inSite = path.replaceAll(/\{(\w+)\}/g, ':$1')
      const url = path.startsWith('/.well-known/') ? `${path}${base}` : `${base}${inSite}`
      for (const method of Object.keys(methods)) {
        expect([path, target.hasRoute({ method: method.toUpperCase() as 'GET', url })]).toEqual([path, true])
      }
    }
  })
})

test('the error codes of the public document are those of the service', () => {
  expect(stored('public').components.schemas.ErrorCode?.enum).toEqual(Object.keys(OAUTH_ERROR_STATUS))
})

test('responses have the shapes of the documents', async () => {
  await server.createUser('alice', PASSWORD)
  const client = await server.createClient()
  const resourceServer = await server.createResourceServer()
  const tokens = (await exchange(server, client, await obtainCode(server, client))).json()
  const introspection = (await introspect(server, resourceServer, tokens.access_token)).json()
  const refusal = (await post(server, '/token', { grant_type: 'other' })).json()
  const metadata = (await server.publicServer.inject({ url: `/.well-known/oauth-authorization-server${BASE}` })).json()
  const [ofPublic, ofInternal] = [stored('public'), stored('internal')]
  expect({
    tokens: conforms(ofPublic, 'TokenResponse', tokens),
    introspection: conforms(ofInternal, 'Introspection', introspection),
    inactive: conforms(ofInternal, 'Introspection', { active: false }),
    refusal: conforms(ofPublic, 'Error', refusal),
    metadata: conforms(ofPublic, 'Metadata', metadata),
    somethingElse: conforms(ofPublic, 'TokenResponse', refusal)
  }).toEqual({ tokens: true, introspection: true, inactive: true, refusal: true, metadata: true, somethingElse: false })
})
