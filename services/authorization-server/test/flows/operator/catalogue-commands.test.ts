import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createConsentStore } from '../../../src/storage/postgres/consents.js'
import { changesIn, lastChangeIn } from '../../support/administration.js'
import { AUDIENCE, type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { OPERATOR, runCommand } from '../../support/command-line.js'
import { introspect, PASSWORD, refresh } from '../../support/flow.js'
import { basicHeaders } from '../../support/kept-secrets.js'
import { introspectionOf, obtainTokens, pairOf } from '../../support/tokens.js'

let server: TestServer
const scopes = (...args: string[]) => runCommand(server.database, ['scopes', ...args])

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

describe('scopes', () => {
  test('create --json prints one document, and the metadata lists the scope (RFC 8414 2)', async () => {
    const { code, out, said } = await scopes('create', 'reports.read', '--title', ' Your reports ', '--json')
    expect([code, said]).toEqual([0, ''])
    expect(JSON.parse(out)).toEqual({
      name: 'reports.read',
      title: 'Your reports',
      description: '',
      translations: {},
      default: false,
      discoverable: false,
      self_service: false,
      selects: false,
      built_in: false
    })
    const metadata = (await server.publicServer.inject('/.well-known/oauth-authorization-server')).json()
    expect(metadata.scopes_supported).toContain('reports.read')
  })

  test('an existing or built-in name is a conflict (4) and changes nothing', async () => {
    for (const name of ['reports.read', 'files.read']) {
      const { code, out } = await scopes('create', name, '--title', 'Another')
      expect([code, out]).toEqual([4, ''])
    }
    expect((await scopes('list')).out).not.toContain('Another')
  })

  test.each(['with blank', 'quote"', 'back\\slash', 'ümlaut', '', 'x'.repeat(101), 'a\nb'])(
    'the name %j is wrong usage (2; RFC 6749 3.3)',
    async (name) => {
      expect((await scopes('create', name, '--title', 'A title')).code).toBe(2)
    }
  )

  test('create and update name the API of the scope by name or audience, and mark it', async () => {
    const audience = 'https://invoices.example'
    const servers = ['resource-servers', 'create', '--name', 'invoices', '--audience', audience]
    expect((await runCommand(server.database, servers)).code).toBe(0)
    const args = ['invoices.read', '--title', 'Invoices', '--resource', 'invoices', '--default', '--json']
    const created = JSON.parse((await scopes('create', ...args)).out)
    expect(created).toMatchObject({ resource: audience, default: true, discoverable: false })
    const marks = ['--no-default', '--discoverable', '--resource', `${audience}:443`, '--json']
    const updated = JSON.parse((await scopes('update', 'invoices.read', ...marks)).out)
    expect(updated).toEqual({ ...created, default: false, discoverable: true })
    expect((await scopes('list')).out).toMatch(/invoices\.read +Invoices +https:\/\/invoices\.example +discoverable/)
    const moved = await scopes('update', 'invoices.read', '--resource', '', '--json')
    expect(JSON.parse(moved.out)).not.toHaveProperty('resource')
    expect((await scopes('update', 'invoices.read', '--resource', 'unknown')).code).toBe(2)
    await scopes('delete', 'invoices.read', '--yes')
  })

  test('a name of credentials of two APIs is refused (2)', async () => {
    for (const audience of ['https://one.example', 'https://two.example'])
      await runCommand(server.database, ['resource-servers', 'create', '--name', 'same', '--audience', audience])
    const { code, said } = await scopes('create', 'same.read', '--title', 'Same', '--resource', 'same')
    expect([code, said]).toEqual([2, expect.stringContaining('several APIs')])
  })

  test('create stores titles and descriptions in other languages', async () => {
    const { code, out } = await scopes(
      'create',
      'translated',
      '--title',
      'Plain',
      '--title-in',
      'de=Schlicht = gut',
      '--title-in',
      'pt-BR= Simples ',
      '--description-in',
      'de=Ein Satz.',
      '--json'
    )
    expect(code).toBe(0)
    expect(JSON.parse(out).translations).toEqual({
      de: { title: 'Schlicht = gut', description: 'Ein Satz.' },
      'pt-BR': { title: 'Simples' }
    })
  })

  test.each(['Berichte', 'de=', 'de= ', '=x', 'd=x', 'deutsch-österreich=x', '__proto__=x'])(
    'the translation %j is wrong usage (2), and nothing is created',
    async (translation) => {
      const { code, said } = await scopes('create', 'half', '--title', 'Half', '--title-in', translation)
      expect([code, said]).toEqual([2, expect.stringContaining('language=text')])
      expect((await scopes('list')).out).not.toContain('half')
    }
  )

  test('a missing title is wrong usage (2)', async () => {
    expect((await scopes('create', 'untitled')).code).toBe(2)
    expect((await scopes('create', 'untitled', '--title', '  ')).code).toBe(2)
  })

  test('list prints built-in scopes first, then others, each by name', async () => {
    await scopes('create', 'a.first', '--title', 'First', '--description', 'One more sentence.')
    const { out } = await scopes('list', '--json')
    const found = JSON.parse(out).scopes
    const namesOf = (builtIn: boolean) =>
      found.flatMap(({ name, built_in }: { name: string; built_in: boolean }) => (built_in === builtIn ? [name] : []))
    const [builtIn, added] = [namesOf(true), namesOf(false)]
    expect(builtIn).toEqual(builtIn.toSorted())
    expect(builtIn).toContain('files.read')
    expect(added).toEqual(['a.first', 'reports.read', 'translated'])
    expect(found.map(({ name }: { name: string }) => name)).toEqual([...builtIn, ...added])
    expect(found.find(({ name }: { name: string }) => name === 'a.first')).toEqual({
      name: 'a.first',
      title: 'First',
      description: 'One more sentence.',
      translations: {},
      default: false,
      discoverable: false,
      self_service: false,
      selects: false,
      built_in: false
    })
    expect((await scopes('list')).out).toMatch(
      /^NAME +TITLE +API\nfiles\.read +See the list of all your files +default API +built in\n/
    )
  })
})

describe('resource-servers create', () => {
  const BASE = ['resource-servers', 'create', '--name', 'files', '--audience', AUDIENCE]
  const SECRET = 'a-secret-made-elsewhere-of-32-or-more'
  const create = (args: readonly string[], stdin = '') => runCommand(server.database, [...BASE, ...args], { stdin })

  test('--json prints one document with a credential that may introspect', async () => {
    const { code, out, said } = await create(['--json'])
    expect([code, said]).toEqual([0, ''])
    const document = JSON.parse(out)
    expect(document).toEqual({
      client_id: expect.stringMatching(/^[0-9A-Za-z]{22}$/),
      client_secret: expect.stringMatching(/^vk_cs_[0-9A-Za-z]{49}$/),
      name: 'files',
      audience: AUDIENCE
    })
    const caller = { clientId: document.client_id, clientSecret: document.client_secret }
    expect((await introspect(server, caller, 'x')).json()).toEqual({ active: false })
  })

  test('with a given id and secret the command is repeatable and creates one credential', async () => {
    const args = ['--client-id', 'files-1', '--secret-stdin']
    const [first, second] = [
      await create([...args, '--json'], `${SECRET}\n`),
      await create([...args, '--json'], SECRET)
    ]
    expect([first.code, second.code]).toEqual([0, 0])
    expect(JSON.parse(first.out)).toEqual({
      client_id: 'files-1',
      client_secret: SECRET,
      name: 'files',
      audience: AUDIENCE
    })
    expect(second.out).toBe(first.out)
    const third = await create(args, SECRET)
    expect([third.code, third.out]).toEqual([
      0,
      'Nothing to do: the credential exists already\nclient id:     files-1\n'
    ])
    expect((await introspect(server, { clientId: 'files-1', clientSecret: SECRET }, 'x')).statusCode).toBe(200)
  })

  test('another secret or audience for the id is a conflict (4), and the first stays valid', async () => {
    const args = ['--client-id', 'files-1', '--secret-stdin']
    const cases = [
      await create(args, `${SECRET}x`),
      await create([...args, '--audience', 'https://other.example'], SECRET)
    ]
    for (const { code, out, said } of cases) {
      expect([code, out]).toEqual([4, ''])
      expect(said).not.toContain(SECRET)
    }
    expect((await introspect(server, { clientId: 'files-1', clientSecret: SECRET }, 'x')).statusCode).toBe(200)
  })

  test.each([
    { name: 'an id without a secret', args: ['--client-id', 'files-2'] },
    { name: 'a secret without an id', args: ['--secret-stdin'], stdin: SECRET },
    { name: 'an empty secret', args: ['--client-id', 'files-2', '--secret-stdin'], stdin: '\n' },
    { name: 'a short secret', args: ['--client-id', 'files-2', '--secret-stdin'], stdin: 'x'.repeat(31) },
    { name: 'a long secret', args: ['--client-id', 'files-2', '--secret-stdin'], stdin: 'x'.repeat(129) },
    { name: 'a secret with a colon', args: ['--client-id', 'files-2', '--secret-stdin'], stdin: `${SECRET}:` },
    { name: 'a secret with a space', args: ['--client-id', 'files-2', '--secret-stdin'], stdin: ` ${SECRET}` },
    { name: 'an id with a colon', args: ['--client-id', 'files:2', '--secret-stdin'], stdin: SECRET },
    { name: 'an audience that is not a URL', args: ['--audience', 'files'] },
    { name: 'an audience with a fragment', args: ['--audience', `${AUDIENCE}#x`] },
    { name: 'an audience with a space', args: ['--audience', 'https://files.example/a b'] },
    { name: 'an audience of another scheme', args: ['--audience', 'ftp://files.example'] }
  ] as { name: string; args: string[]; stdin?: string }[])('$name is wrong usage (2)', async ({ args, stdin = '' }) => {
    const { code, out, said } = await create(args, stdin)
    expect([code, out]).toEqual([2, ''])
    expect(said).not.toBe('')
    if (stdin.length > 1) expect(said).not.toContain(stdin)
  })

  test('a missing name or audience is wrong usage (2)', async () => {
    for (const missing of ['--name', '--audience']) {
      const at = BASE.indexOf(missing)
      const { code, said } = await runCommand(server.database, BASE.toSpliced(at, 2))
      expect([code, said]).toEqual([2, expect.stringContaining(missing)])
    }
  })
})

describe('changes of scopes', () => {
  const actor = { kind: 'command_line', name: OPERATOR }
  let count = 0
  let userId: string
  let name: string

  beforeAll(async () => {
    userId = await server.createUser('alice', PASSWORD)
  })
  beforeEach(async () => {
    count += 1
    name = `reports.read/${count}`
    const texts = ['--title', 'Your reports', '--description', 'All of them.', '--title-in', 'de=Ihre Berichte']
    expect((await scopes('create', name, ...texts, '--title-in', 'fr=Vos rapports')).code).toBe(0)
  })
  const clients = (...args: string[]) => runCommand(server.database, ['clients', ...args])

  async function shown() {
    const found = JSON.parse((await scopes('list', '--json')).out).scopes
    return found.find((scope: { name: string }) => scope.name === name)
  }

  const scopesOf = async (clientId: string) => {
    const { scope, optional_scope } = JSON.parse((await clients('show', clientId, '--json')).out)
    return [scope, optional_scope]
  }

  test('scopes create is audited', async () => {
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'scope_created',
      details: { actor, scope: name, title: 'Your reports', translations: { de: { title: 'Ihre Berichte' } } }
    })
  })

  describe('scopes update', () => {
    test.each([
      { args: ['--title', ' Reports '], change: { title: 'Reports' } },
      { args: ['--description', ''], change: { description: '' } },
      {
        args: ['--title-in', 'de=Berichte', '--description-in', 'de=Alle.'],
        change: { translations: { de: { title: 'Berichte', description: 'Alle.' }, fr: { title: 'Vos rapports' } } }
      },
      { args: ['--drop-language', 'fr'], change: { translations: { de: { title: 'Ihre Berichte' } } } }
    ] as { args: string[]; change: Record<string, unknown> }[])(
      '$args changes only this member',
      async ({ args, change }) => {
        const before = await shown()
        const { code, out } = await scopes('update', name, ...args, '--json')
        expect([code, JSON.parse(out)]).toEqual([0, { ...before, ...change }])
        expect(await shown()).toEqual({ ...before, ...change })
        const [member = ''] = Object.keys(change)
        expect(await lastChangeIn(server)).toMatchObject({
          event: 'scope_updated',
          details: { actor, scope: name, changes: { [member]: { from: before[member], to: change[member] } } }
        })
      }
    )

    test('the texts of a built-in scope can be changed', async () => {
      const { code, out } = await scopes('update', 'files.read:media', '--title', 'Hear your music', '--json')
      expect([code, JSON.parse(out)]).toEqual([
        0,
        expect.objectContaining({ title: 'Hear your music', built_in: true })
      ])
    })

    test('an update to the current texts records no event', async () => {
      const events = await changesIn(server)
      expect((await scopes('update', name, '--title', 'Your reports')).code).toBe(0)
      expect(await changesIn(server)).toEqual(events)
    })

    test.each([
      { problem: 'nothing', args: [] },
      { problem: 'an empty title', args: ['--title', ' '] },
      { problem: 'a title of two lines', args: ['--title', 'a\nb'] },
      { problem: 'a title over 500 characters', args: ['--title', 'x'.repeat(501)] },
      { problem: 'a translation of no form', args: ['--title-in', 'Berichte'] }
    ])('$problem is wrong usage (2)', async ({ args }) => {
      const before = await shown()
      expect((await scopes('update', name, ...args)).code).toBe(2)
      expect(await shown()).toEqual(before)
    })

    test('an unknown name or id is 3', async () => {
      expect((await scopes('update', 'unknown', '--title', 'x')).code).toBe(3)
    })
  })

  describe('scopes delete', () => {
    test('deletes a scope without clients and audits its last state', async () => {
      const { code, out } = await scopes('delete', name, '--yes', '--json')
      expect([code, JSON.parse(out)]).toMatchObject([0, { name, taken_from: [] }])
      expect(await shown()).toBeUndefined()
      expect(await lastChangeIn(server)).toMatchObject({
        event: 'scope_deleted',
        details: { actor, scope: name, title: 'Your reports', clientIds: [] }
      })
    })

    test('a built-in scope is a conflict (4) and is not deleted', async () => {
      const { code, said } = await scopes('delete', 'files.read:images', '--yes', '--from-clients')
      expect([code, said]).toEqual([4, expect.stringContaining('built in')])
      expect((await scopes('list')).out).toContain('files.read:images')
    })

    test('a scope of clients is a conflict (4) that names them; --from-clients removes it from them', async () => {
      const first = await server.createClient({ requiredScopes: ['files.read', name] })
      const second = await server.createClient({ requiredScopes: ['files.read'], optionalScopes: [name] })
      const refused = await scopes('delete', name, '--yes')
      expect(refused.code).toBe(4)
      for (const { clientId } of [first, second]) expect(refused.said).toContain(clientId)
      expect(await shown()).toBeDefined()
      const { code, out } = await scopes('delete', name, '--yes', '--from-clients', '--json')
      const clientIds = [first.clientId, second.clientId].toSorted()
      expect([code, JSON.parse(out).taken_from.toSorted()]).toEqual([0, clientIds])
      expect(await scopesOf(first.clientId)).toEqual(['files.read', ''])
      expect(await scopesOf(second.clientId)).toEqual(['files.read', ''])
    })

    test('the only scope of a client is a conflict (4) even with --from-clients', async () => {
      const { clientId } = await server.createClient({ requiredScopes: [name] })
      const { code, said } = await scopes('delete', name, '--yes', '--from-clients')
      expect([code, said]).toEqual([4, expect.stringContaining(clientId)])
      expect(await scopesOf(clientId)).toEqual([name, ''])
    })

    test('tokens and remembered consents lose the scope at once', async () => {
      const client = await server.createClient({ requiredScopes: ['files.read', name], consent: 'remember' })
      const caller = await server.createResourceServer()
      const tokens = await obtainTokens(server, client, { scope: `files.read ${name}` })
      await scopes('delete', name, '--yes', '--from-clients')
      expect(await introspectionOf(server, caller, tokens.access_token)).toMatchObject({ scope: 'files.read' })
      expect(pairOf(await refresh(server, client, tokens.refresh_token)).scope).toBe('files.read')
      const key = { userId, clientId: client.clientId, audience: AUDIENCE }
      expect(await createConsentStore(server.database).findScope(key)).toEqual(['files.read'])
    })

    test('asks: No changes nothing (1), without a terminal 2, an unknown scope 3', async () => {
      expect((await runCommand(server.database, ['scopes', 'delete', name], { answer: false })).code).toBe(1)
      expect((await scopes('delete', name)).code).toBe(2)
      expect(await shown()).toBeDefined()
      expect((await scopes('delete', 'unknown', '--yes')).code).toBe(3)
    })

    test('five concurrent deletions: one succeeds, the others are not_found or conflict', async () => {
      const codes = (await Promise.all([1, 2, 3, 4, 5].map(() => scopes('delete', name, '--yes')))).map(
        ({ code }) => code
      )
      expect(codes.filter((code) => code === 0)).toHaveLength(1)
      expect(codes.every((code) => [0, 3, 4].includes(code))).toBe(true)
    })
  })
})

describe('resource servers', () => {
  const actor = { kind: 'command_line', name: OPERATOR }

  const servers = (...args: string[]) => runCommand(server.database, ['resource-servers', ...args])
  const works = async (caller: Credentials) => (await introspect(server, caller, 'x')).statusCode === 200

  async function made(...args: string[]): Promise<Credentials & { name: string; audience: string }> {
    const { code, out } = await servers(...args, '--json')
    expect(code).toBe(0)
    const { client_id: clientId, client_secret: clientSecret, name, audience } = JSON.parse(out)
    return { clientId, clientSecret, name, audience }
  }

  const create = () => made('create', '--name', 'files', '--audience', AUDIENCE)

  describe('resource-servers create', () => {
    test('is audited without the secret; a repetition with the same id and secret is not audited', async () => {
      const { clientId } = await create()
      expect(await lastChangeIn(server)).toMatchObject({
        event: 'resource_server_created',
        client_id: clientId,
        details: { actor, name: 'files', audience: AUDIENCE }
      })
      const secret = 'a-secret-made-elsewhere-of-32-or-more'
      const again = ['create', '--name', 'files', '--audience', AUDIENCE, '--client-id', 'twice', '--secret-stdin']
      const run = () => runCommand(server.database, ['resource-servers', ...again], { stdin: secret })
      expect((await run()).code).toBe(0)
      const events = await changesIn(server)
      expect((await run()).code).toBe(0)
      expect(await changesIn(server)).toEqual(events)
      expect(JSON.stringify(events)).not.toContain(secret)
    })

    test('a secret from another server works, encoded and raw', async () => {
      const clientSecret = 'a-secret_of-another-server-0123456789'
      const clientId = `kept-${randomUUID()}`
      const args = ['create', '--name', 'kept', '--audience', AUDIENCE, '--client-id', clientId, '--secret-stdin']
      const { code, out } = await runCommand(server.database, ['resource-servers', ...args], { stdin: clientSecret })
      expect([code, out]).toEqual([0, expect.stringMatching(/client secret: kept; accepted in HTTP Basic, .*\n$/)])
      for (const { headers } of basicHeaders({ clientId, clientSecret })) {
        const answer = await server.internalServer.inject({
          method: 'POST',
          url: '/introspect',
          headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
          payload: 'token=x'
        })
        expect([answer.statusCode, headers]).toEqual([200, headers])
      }
      expect(await works({ clientId, clientSecret: `${clientSecret}=` })).toBe(false)
    })

    test('a repetition with another name reports the stored name', async () => {
      const again = async (name: string) => {
        const args = ['--audience', AUDIENCE, '--client-id', 'renamed', '--secret-stdin', '--json']
        const stdin = 'a-secret-made-elsewhere-of-32-or-more'
        return runCommand(server.database, ['resource-servers', 'create', '--name', name, ...args], { stdin })
      }
      expect(JSON.parse((await again('first')).out)).toMatchObject({ name: 'first' })
      const { code, out } = await again('second')
      expect([code, JSON.parse(out).name]).toEqual([0, 'first'])
    })

    test.each(['', 'x'.repeat(101), 'a\nb'])('the name %j is wrong usage (2)', async (name) => {
      expect((await servers('create', '--name', name, '--audience', AUDIENCE)).code).toBe(2)
    })
  })

  test('resource-servers list prints each credential with its audience, without a secret', async () => {
    const { clientId, clientSecret } = await create()
    const { out } = await servers('list', '--json')
    expect(JSON.parse(out).resource_servers).toContainEqual({
      client_id: clientId,
      name: 'files',
      audience: AUDIENCE,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/)
    })
    const lines = (await servers('list')).out
    expect(lines).toMatch(/^CLIENT ID +NAME +AUDIENCE +LAST USED\n/)
    expect(out + lines).not.toContain(clientSecret)
  })

  describe('resource-servers rotate-secret and delete', () => {
    test('a second credential for the audience is valid next to the first, until that is deleted', async () => {
      const first = await create()
      const second = await made('rotate-secret', first.clientId)
      expect(second).toMatchObject({ name: 'files', audience: AUDIENCE })
      expect(await lastChangeIn(server)).toMatchObject({
        event: 'resource_server_created',
        client_id: second.clientId,
        details: { actor, replaces: first.clientId }
      })
      expect([await works(first), await works(second)]).toEqual([true, true])
      const { code, out } = await servers('delete', first.clientId, '--yes', '--json')
      expect([code, JSON.parse(out).client_id]).toEqual([0, first.clientId])
      expect([await works(first), await works(second)]).toEqual([false, true])
      expect(await lastChangeIn(server)).toMatchObject({
        event: 'resource_server_deleted',
        client_id: first.clientId,
        details: { actor, name: 'files', audience: AUDIENCE }
      })
    })

    test('delete asks and warns about the last credential of an audience; without a terminal 2', async () => {
      const audience = 'https://only.example'
      const only = await made('create', '--name', 'only', '--audience', audience)
      const ask = () => runCommand(server.database, ['resource-servers', 'delete', only.clientId], { answer: false })
      expect(await ask()).toMatchObject({ code: 1, said: expect.stringContaining(`the last one for ${audience}`) })
      const second = await made('rotate-secret', only.clientId)
      expect((await ask()).said).not.toContain('the last one')
      expect((await servers('delete', second.clientId)).code).toBe(2)
      expect(await works(only)).toBe(true)
    })

    test('an unknown name or id is 3', async () => {
      expect((await servers('rotate-secret', 'unknown')).code).toBe(3)
      expect((await servers('delete', 'unknown', '--yes')).code).toBe(3)
    })
  })
})
