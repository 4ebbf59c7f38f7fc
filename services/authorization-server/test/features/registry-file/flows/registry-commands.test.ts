import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { parse, stringify } from 'yaml'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'
import { bodyCredentials, post } from '../../../support/flow.js'
import { startRegistry, type TestRegistry } from '../support/registry-files.js'

let server: TestServer
const REPORTS = { client_id: 'reports-api', name: 'reports', audience: 'https://reports.example' }

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

describe('mistakes', () => {
  const SCOPE = { name: 'reports.read', title: 'See your reports', resource: 'reports' }
  const PRINTER = {
    client_id: 'photo-printer',
    name: 'Photo Printer',
    redirect_uris: ['https://printer.example/cb'],
    scope: 'files.read'
  }

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
          client_id: 'a b',
          name: '',
          redirect_uris: ['https://a.example/cb', 'http://b.example/cb', 'c:/#'],
          scope: 'unknown',
          optional_scope: 'reports.read,files.read',
          resources: ['reports', 'elsewhere'],
          access_token_ttl: 0,
          refresh_token_idle_ttl: 1e9,
          refresh_token_max_ttl: -1
        },
        { client_id: 'no-scope', name: 'No scope', redirect_uris: ['https://a.example/cb'], type: 'public' },
        { client_id: 'no-secret', name: 'No secret', redirect_uris: [], scope: 'files.read' }
      ]
    })
    expect(said.split('\n').map((line) => line.split(': ', 1)[0])).toEqual([
      'resource_servers[0].title',
      'resource_servers[0].name',
      ...['client_id', 'name', 'audience'].map((member) => `resource_servers[1].${member}`),
      ...['name', 'title', 'description', 'translations.d e', 'resource'].map((member) => `scopes[0].${member}`),
      'scopes[1].resource',
      'clients[0].type',
      ...['client_id', 'resources[1]', 'scope', 'optional_scope'].map((member) => `clients[1].${member}`),
      ...['name', 'access_token_ttl', 'refresh_token_idle_ttl', 'refresh_token_max_ttl'].map(
        (member) => `clients[1].${member}`
      ),
      'clients[2]',
      'clients[3]',
      'clients[3]'
    ])
    expect(said).toMatch(/clients\[1\]\.scope: not in the scope catalogue: unknown \(it has files\.read /)
    expect(code).toBe(2)
    expect(await exported()).toEqual(before)
  })

  test('redirect URIs and scopes that cannot be used are skipped and named, if their list has others', async () => {
    const client = {
      client_id: 'moved',
      name: 'Moved',
      type: 'public',
      redirect_uris: [
        'http://moved.example/cb',
        'https://moved.example/cb',
        'cursor://moved',
        'https://b\u00fccher.example/'
      ],
      scope: 'openid files.read',
      optional_scope: 'email files.read:images files.red:images'
    }
    const skipped = [
      'skipped clients[0].redirect_uris[0]: must be https,',
      'skipped clients[0].redirect_uris[2]: must be https,',
      'skipped clients[0].redirect_uris[3]: must be printable ASCII, with the host in its xn-- form: https://xn--bcher-kva.example/',
      'skipped clients[0].scope[0]: openid is not in the scope catalogue',
      'skipped clients[0].optional_scope[0]: email is not in the scope catalogue',
      'skipped clients[0].optional_scope[2]: files.red:images is not in the scope catalogue (did you mean files.read:images'
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
      ...PRINTER,
      client_id: `partner-${number}`,
      // A list for each, so that YAML has no aliases.
      redirect_uris: ['https://printer.example/cb'],
      scope: 'files.read'
    }))
    const { said } = await apply({ clients })
    expect(said.split('\n')).toHaveLength(101)
    expect(said).toMatch(/\nand 50 more$/)
  })
})

describe('registry', () => {
  let directory: string

  beforeAll(async () => {
    directory = mkdtempSync(path.join(tmpdir(), 'registry-'))
  })
  afterAll(async () => {
    rmSync(directory, { recursive: true })
  })

  const REPORTS = { client_id: 'reports-api', name: 'reports', audience: 'https://reports.example', title: 'Reports' }
  const SCOPE = { name: 'reports.read', title: 'See your reports', resource: 'reports', default: true }
  const PRINTER = {
    client_id: 'photo-printer',
    name: 'Photo Printer',
    redirect_uris: ['https://printer.example/cb'],
    scope: 'files.read reports.read'
  }
  const SECRET = 'a-secret-of-another-server-0123456789'

  const valetkey = (...args: string[]) => runCommand(server.database, args)

  /** Applies a document from a file, with a secret for every id that the tests use. */
  function apply(document: object, ...options: string[]) {
    const file = path.join(directory, 'valetkey.yaml')
    writeFileSync(file, stringify(document))
    return valetkey('apply', '-f', file, '--secrets-dir', directory, ...options)
  }

  async function exported() {
    return parse((await valetkey('export')).out)
  }

  /** The events are those of operators. An event of the exchange is stored a moment after its response. */
  const countEvents = async () => {
    const rows = await server.database.query<{ count: string }>({
      name: 'count_audit_events',
      text: `select count(*) from audit_events where details ? 'actor'`,
      values: []
    })
    return rows[0]?.count
  }

  beforeEach(async () => {
    await valetkey('apply', '-f', emptyFile(), '--prune', '--yes')
    writeFileSync(path.join(directory, 'photo-printer'), `${SECRET}\n`)
    writeFileSync(path.join(directory, 'reports-api'), SECRET)
    writeFileSync(path.join(directory, 'short'), 'short')
  })

  function emptyFile(): string {
    const file = path.join(directory, 'empty.yaml')
    writeFileSync(file, stringify({ resource_servers: [], scopes: [], clients: [] }))
    return file
  }

  const WHOLE = { resource_servers: [REPORTS], scopes: [SCOPE], clients: [PRINTER] }

  describe('apply', () => {
    test('one run creates an API, its scope and a client with the given secret; a second run changes nothing', async () => {
      const first = await apply(WHOLE)
      expect([first.code, first.said]).toEqual([0, ''])
      expect(first.out).toBe(
        'Created resource server reports-api\nCreated scope reports.read\nCreated client photo-printer\n'
      )
      const credentials = bodyCredentials({ clientId: 'photo-printer', clientSecret: SECRET })
      const answer = await post(server, '/token', { grant_type: 'other', ...credentials })
      expect(answer.json()).toMatchObject({ error: 'unsupported_grant_type' })
      const events = await countEvents()
      expect(await apply(WHOLE)).toEqual({ code: 0, out: 'Nothing to change\n', said: '' })
      expect(await countEvents()).toBe(events)
    })

    test('fifty clients: the second run changes nothing, and an edited one is the only change', async () => {
      const clients = Array.from({ length: 50 }, (_, number) => ({
        ...PRINTER,
        client_id: `partner-${number}`,
        name: `Partner ${number}`,
        type: 'public',
        scope: 'files.read'
      }))
      expect((await apply({ clients })).out.match(/^Created client /gm)).toHaveLength(50)
      expect((await apply({ clients })).out).toBe('Nothing to change\n')
      const edited = clients.with(7, {
        ...clients[7],
        redirect_uris: ['https://new.example/cb']
      } as (typeof clients)[0])
      expect((await apply({ clients: edited })).out).toBe('Updated client partner-7: redirect_uris\n')
    })

    test('--dry-run prints the changes, also of a client of a new API, and makes none', async () => {
      const before = await exported()
      const { code, out } = await apply(WHOLE, '--dry-run', '--json')
      const changes = JSON.parse(out).changes.map((each: { action: string; id: string }) => `${each.action} ${each.id}`)
      expect([code, changes]).toEqual([0, ['create reports-api', 'create reports.read', 'create photo-printer']])
      expect(await exported()).toEqual(before)
    })

    test('an omitted member gets its default; disabled stays as it is unless the file has it', async () => {
      await apply(WHOLE)
      await valetkey('clients', 'update', 'photo-printer', '--verified', '--access-token-ttl', '5m')
      await valetkey('clients', 'disable', 'photo-printer', '--yes')
      expect((await apply(WHOLE)).out).toBe('Updated client photo-printer: verified, access_token_ttl\n')
      expect((await exported()).clients[0]).toMatchObject({ verified: false, disabled: true })
      expect((await apply({ clients: [{ ...PRINTER, disabled: false }] })).out).toContain('photo-printer: disabled')
      expect((await exported()).clients[0].disabled).toBeUndefined()
    })

    test('has the texts of the branding; the logo stays as it is, and no file names one', async () => {
      const branding = { publisher: 'Example GmbH', home_page: 'https://printer.example/', verified: true }
      await apply({ ...WHOLE, clients: [{ ...PRINTER, ...branding }] })
      const logo = 'a0'.repeat(32)
      const text = `with logo as (insert into client_logos values ($1, 'image', now()))
      update clients set logo = $1 where client_id = 'photo-printer'`
      await server.database.query({ name: 'set_logo', text, values: [logo] })
      const shown = async () => JSON.parse((await valetkey('clients', 'show', 'photo-printer', '--json')).out)
      expect(await shown()).toMatchObject({ ...branding, logo })
      const document = await exported()
      expect(document.clients[0]).toMatchObject(branding)
      expect(document.clients[0]).not.toHaveProperty('logo')
      expect((await apply(document)).out).toBe('Nothing to change\n')
      const renamed = { ...PRINTER, ...branding, publisher: 'Other GmbH' }
      expect((await apply({ clients: [renamed] })).out).toBe('Updated client photo-printer: publisher\n')
      expect((await apply(WHOLE)).out).toBe('Updated client photo-printer: verified, home_page, publisher\n')
      expect(await shown()).toMatchObject({ verified: false, logo })
      const hotLink = { ...PRINTER, logo: 'https://printer.example/logo.png' }
      expect(await apply({ clients: [hotLink] })).toMatchObject({
        code: 2,
        said: 'clients[0]: has an unknown member: logo'
      })
    })

    test('--prune deletes what a listed kind lacks, after confirmation; other kinds and built-in scopes stay', async () => {
      await apply(WHOLE)
      const { code, said } = await apply({ clients: [] }, '--prune')
      expect([code, said]).toEqual([2, 'confirmation required; pass --yes'])
      const dryRun = await apply({ clients: [] }, '--prune', '--dry-run')
      expect(dryRun.out).toBe('Would delete client photo-printer (Photo Printer)\n')
      expect((await apply({ clients: [] }, '--prune', '--yes')).out).toBe(
        'Deleted client photo-printer (Photo Printer)\n'
      )
      const { out } = await apply({ scopes: [], resource_servers: [] }, '--prune', '--yes')
      expect(out).toBe('Deleted scope reports.read\nDeleted resource server reports-api (reports)\n')
      expect((await exported()).scopes.map(({ name }: { name: string }) => name)).toContain('files.read')
    })

    test.each([
      [
        'a new client without a secret',
        { clients: [{ ...PRINTER, client_id: 'unknown', scope: 'files.read' }] },
        /^clients\[0\]: client unknown is new: pass --secrets-dir/
      ],
      [
        'a client id that would lead out of the directory of secrets',
        { clients: [{ ...PRINTER, client_id: '../photo-printer', scope: 'files.read' }] },
        /^clients\[0\]\.client_id: a client id must have 1 to 128 characters/
      ],
      [
        'a new public client with an invalid id',
        { clients: [{ ...PRINTER, client_id: 'photo printer', type: 'public', scope: 'files.read' }] },
        /^clients\[0\]\.client_id: a client id must have 1 to 128 characters/
      ],
      [
        'a secret that is too short',
        { clients: [{ ...PRINTER, client_id: 'short', scope: 'files.read' }] },
        /^clients\[0\]: a secret must have 24 to 256/
      ],
      [
        'an unknown member',
        { clients: [{ ...PRINTER, redirect_uri: 'https://a.example' }] },
        /^clients\[0\]: has an unknown member: redirect_uri$/
      ],
      ['a wrong type', { clients: [{ ...PRINTER, scope: ['files.read'] }] }, /^clients\[0\]\.scope: must be a text$/],
      [
        'a wrong value',
        { clients: [{ ...PRINTER, consent: 'never' }] },
        /^clients\[0\]\.consent: must be one of ask, remember$/
      ],
      ['a client twice', { clients: [PRINTER, PRINTER] }, /^clients\[1\]\.client_id: photo-printer is listed twice$/],
      [
        'an unknown scope',
        { clients: [{ ...PRINTER, scope: 'files.read,reports.read' }] },
        /^clients\[0\]\.scope: .*separate scopes by spaces, not by commas/
      ],
      [
        'an unknown API',
        { scopes: [{ ...SCOPE, resource: 'nowhere' }] },
        /^scopes\[0\]\.resource: there is no resource server with the name or audience "nowhere"/
      ]
    ])('%s is refused, and the entries before it change nothing', async (_case, document, message) => {
      const before = await exported()
      const { code, said } = await apply({ resource_servers: [REPORTS], ...document })
      expect([code, said]).toEqual([2, expect.stringMatching(message)])
      expect(await exported()).toEqual(before)
    })

    test('a member that cannot change is a conflict', async () => {
      await apply(WHOLE)
      const moved = await apply({ resource_servers: [{ ...REPORTS, audience: 'https://other.example' }] })
      const typed = await apply({ clients: [{ ...PRINTER, type: 'public' }] })
      expect([moved.code, moved.said]).toEqual([
        4,
        expect.stringContaining('another audience, https://reports.example')
      ])
      expect([typed.code, typed.said]).toEqual([4, expect.stringContaining('is confidential, which cannot be changed')])
    })

    test.each([
      ['text that is neither YAML nor JSON', 'clients: [', /is neither YAML nor JSON/],
      ['ISO-8859-1', Buffer.from('scopes: [{name: a, title: Bücher}]', 'latin1'), /is not UTF-8 but ISO-8859-1/],
      ['a list', '- clients', /^the document: must be a mapping$/],
      ['an empty document', '# clients:\n', /^the document is empty$/]
    ])('%s is refused', async (_case, text, message) => {
      const { code, said } = await runCommand(server.database, ['apply', '-f', '-'], { stdin: text })
      expect([code, said]).toEqual([2, expect.stringMatching(message)])
    })

    test('a file that does not exist is named', async () => {
      const { code, said } = await valetkey('apply', '-f', '/nowhere.yaml')
      expect([code, said]).toEqual([2, 'the file /nowhere.yaml cannot be read'])
    })
  })

  describe('export', () => {
    test('its output changes nothing when it is applied, and is the same afterwards', async () => {
      await apply(WHOLE)
      const { out } = await valetkey('export')
      const applied = await runCommand(server.database, ['apply', '-f', '-', '--prune'], { stdin: out })
      expect([applied.code, applied.out]).toEqual([0, 'Nothing to change\n'])
      expect((await valetkey('export')).out).toBe(out)
    })

    test('contains no secret and no hash', async () => {
      await apply(WHOLE)
      const { out } = await valetkey('export', '--json')
      expect(out).not.toContain(SECRET)
      expect(Object.keys(JSON.parse(out))).toEqual(['resource_servers', 'scopes', 'clients'])
    })
  })
})

describe('apply that fails after the first change', () => {
  const DOCUMENT = { resource_servers: [REPORTS], scopes: [{ name: 'reports.read', title: 'See your reports' }] }

  let registry: TestRegistry

  beforeAll(async () => {
    registry = await startRegistry()
    // Stands for another command that creates the same scope after the validation.
    await registry.run(`create function create_scope() returns trigger language plpgsql as $$
    begin
      insert into scopes (name, title) values ('reports.read', 'Of another command');
      return new;
    end $$`)
    await registry.run(`create trigger create_scope after insert on resource_servers
    for each row execute function create_scope()`)
  })
  afterAll(() => registry.close())
  beforeEach(async () => {
    await registry.clear()
  })

  test('has printed the change that was made; a repetition makes the others', async () => {
    expect(await registry.apply(DOCUMENT)).toEqual({
      code: 4,
      out: 'Created resource server reports-api\n',
      said: 'scope reports.read exists already'
    })
    expect(await registry.apply(DOCUMENT)).toMatchObject({ code: 0, out: 'Updated scope reports.read: title\n' })
  })

  test('prints with --json one document with only the change that was made', async () => {
    const { code, out, said } = await registry.apply(DOCUMENT, '--json')
    expect([code, said]).toEqual([4, 'scope reports.read exists already'])
    expect(JSON.parse(out)).toEqual({
      changes: [{ kind: 'resource server', id: 'reports-api', action: 'create', changes: {} }],
      dry_run: false
    })
  })
})
