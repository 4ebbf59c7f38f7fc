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
    ...['client_id', 'resources[1]', 'scope', 'optional_scope'].map((member) => `clients[1].${member}`),
    ...['name', 'access_token_ttl', 'refresh_token_idle_ttl', 'refresh_token_max_ttl'].map(
      (member) => `clients[1].${member}`
    ),
    ...['clients[2]', 'clients[3]', 'clients[3]']
  ])
  expect(code).toBe(2)
  expect(await exported()).toEqual(before)
})

test('redirect URIs and scopes that cannot be used are skipped and named, if their list has others', async () => {
  const client = {
    ...{ client_id: 'moved', name: 'Moved', type: 'public' },
    redirect_uris: [
      'http://moved.example/cb',
      'https://moved.example/cb',
      'cursor://moved',
      'https://b\u00fccher.example/'
    ],
    ...{ scope: 'openid files.read', optional_scope: 'email files.read:images profile' }
  }
  const skipped = [
    'skipped clients[0].redirect_uris[0]: must be https,',
    'skipped clients[0].redirect_uris[2]: must be https,',
    'skipped clients[0].redirect_uris[3]: must be printable ASCII, with the host in its xn-- form: https://xn--bcher-kva.example/',
    'skipped clients[0].scope[0]: openid is not in the scope catalogue',
    'skipped clients[0].optional_scope[0]: email is not in the scope catalogue',
    'skipped clients[0].optional_scope[2]: profile is not in the scope catalogue'
  ]
  const expectSkipped = (said: string) => {
    const lines = said.trim().split('\n')
    expect(lines).toEqual(skipped.map((line) => expect.stringContaining(line)))
  }
  const dryRun = await runCommand(server.database, ['apply', '-f', '-', '--dry-run'], {
    stdin: stringify({ clients: [client] })
  })
  expect([dryRun.code, dryRun.out]).toEqual([0, 'Would create client moved\n'])
  expectSkipped(dryRun.said)
  const applied = await apply({ clients: [client] })
  expect([applied.code, applied.out]).toEqual([0, 'Created client moved\n'])
  expectSkipped(applied.said)
  const { out } = await runCommand(server.database, ['clients', 'show', 'moved', '--json'])
  expect(JSON.parse(out)).toMatchObject({
    redirect_uris: ['https://moved.example/cb'],
    scope: 'files.read',
    optional_scope: 'files.read:images'
  })
  const again = await apply({ clients: [client] })
  expect([again.code, again.out]).toEqual([0, 'Nothing to change\n'])
  expectSkipped(again.said)
})

test('an API that limits a client is never skipped, and neither is the last redirect URI', async () => {
  const client = { ...PRINTER, client_id: 'limited', type: 'public' }
  const limited = await apply({ clients: [{ ...client, resources: ['https://unknown.example'] }] })
  expect([limited.code, limited.said]).toEqual([2, expect.stringMatching(/^clients\[0\]\.resources\[0\]: /)])
  const without = await apply({ clients: [{ ...client, redirect_uris: ['http://a.example/'] }] })
  expect([without.code, without.said]).toEqual([2, expect.stringMatching(/^clients\[0\]\.redirect_uris\[0\]: /)])
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
