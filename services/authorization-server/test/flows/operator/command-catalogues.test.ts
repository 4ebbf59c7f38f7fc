import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AUDIENCE, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
import { introspect } from '../../support/flow.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const scopes = (...args: string[]) => runCommand(server.database, ['scopes', ...args])

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
      ...[
        'create',
        'translated',
        '--title',
        'Plain',
        '--title-in',
        'de=Schlicht = gut',
        '--title-in',
        'pt-BR= Simples '
      ],
      ...['--description-in', 'de=Ein Satz.', '--json']
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
