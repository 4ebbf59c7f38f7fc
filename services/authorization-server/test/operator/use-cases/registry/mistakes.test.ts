import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { stringify } from 'yaml'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'

const REPORTS = { client_id: 'reports-api', name: 'reports', audience: 'https://reports.example' }
const SCOPE = { name: 'reports.read', title: 'See your reports', resource: 'reports' }
const PRINTER = {
  client_id: 'photo-printer',
  name: 'Photo Printer',
  redirect_uris: ['https://printer.example/cb'],
  scope: 'files.read'
}

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const apply = (document: object) => runCommand(server.database, ['apply', '-f', '-'], { stdin: stringify(document) })
const exported = async () => (await runCommand(server.database, ['export'])).out

test('all mistakes of the form are named with their place', async () => {
  const { code, said } = await apply({
    resource_servers: [REPORTS, REPORTS.name],
    scopes: [{ ...SCOPE, translations: { 'de/1': { titel: 'Berichte' } } }],
    clients: [PRINTER, { client_id: 'no-name', redirect_uris: [7, 'https://a.example/cb', true], secret: 'x' }]
  })
  expect([code, said.split('\n')]).toEqual([
    2,
    [
      'resource_servers[1]: must be a mapping',
      'scopes[0].translations.de/1: has an unknown member: titel',
      'clients[1]: has no member name',
      'clients[1]: has an unknown member: secret',
      'clients[1].redirect_uris[0]: must be a text',
      'clients[1].redirect_uris[2]: must be a text'
    ]
  ])
})

test('all mistakes of values are named with their place, and nothing is changed', async () => {
  const secret = { stdin: 'a-secret-of-another-server-0123456789' }
  const api = ['--client-id', 'reports-api', '--name', 'reports', '--audience', REPORTS.audience]
  await runCommand(server.database, ['resource-servers', 'create', '--secret-stdin', ...api], secret)
  await apply({ clients: [{ ...PRINTER, type: 'public' }] })
  const before = await exported()
  const { code, said } = await apply({
    resource_servers: [
      { ...REPORTS, name: 'other', title: ' ' },
      { client_id: '..', name: '\u0000', audience: 'reports' }
    ],
    scopes: [
      {
        name: 'two words',
        title: '',
        description: 'x'.repeat(501),
        translations: { 'd e': {} },
        resource: 'nowhere'
      },
      { name: 'files.read', title: 'See your files', resource: 'reports' }
    ],
    clients: [
      { ...PRINTER, name: 'New' },
      {
        ...{ client_id: 'a b', name: '', redirect_uris: ['https://a.example/cb', 'http://b.example/cb', 'c:/#'] },
        ...{ scope: 'unknown', optional_scope: 'reports.read,files.read', resources: ['reports', 'elsewhere'] },
        ...{ access_token_ttl: 0, refresh_token_idle_ttl: 1e9, refresh_token_max_ttl: -1 }
      },
      { client_id: 'no-scope', name: 'No scope', redirect_uris: ['https://a.example/cb'], type: 'public' },
      { client_id: 'no-secret', name: 'No secret', redirect_uris: [], scope: 'files.read' }
    ]
  })
  expect(said.split('\n').map((line) => line.split(': ', 1)[0])).toEqual([
    ...['resource_servers[0].title', 'resource_servers[0].name'],
    ...['client_id', 'name', 'audience'].map((member) => `resource_servers[1].${member}`),
    ...['name', 'title', 'description', 'translations.d e', 'resource'].map((member) => `scopes[0].${member}`),
    'scopes[1].resource',
    'clients[0].type',
    ...['client_id', 'redirect_uris[1]', 'redirect_uris[2]', 'resources[1]', 'scope', 'optional_scope'].map(
      (member) => `clients[1].${member}`
    ),
    ...['name', 'access_token_ttl', 'refresh_token_idle_ttl', 'refresh_token_max_ttl'].map(
      (member) => `clients[1].${member}`
    ),
    ...['clients[2]', 'clients[3]', 'clients[3]']
  ])
  expect(code).toBe(2)
  expect(await exported()).toEqual(before)
})

test('a hundred mistakes are named, and the others counted', async () => {
  const clients = Array.from({ length: 150 }, (_, number) => ({
    ...{ ...PRINTER, client_id: `partner-${number}` },
    // A list for each, so that YAML has no aliases.
    ...{ redirect_uris: ['https://printer.example/cb'], scope: 'files.read' }
  }))
  const { said } = await apply({ clients })
  expect(said.split('\n')).toHaveLength(101)
  expect(said).toMatch(/\nand 50 more$/)
})
