import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { isWellFormed } from '@valetkey/oauth-protocol'
import { type Administration, startAdministration } from '../../support/administration.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
import { basic, bodyCredentials, post } from '../../support/flow.js'
import { basicHeaders, KEPT_SECRETS, type Sent } from '../../support/kept-secrets.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

describe('clients', () => {
  const BASE = ['--name', 'Photo Printer', '--redirect-uri', 'https://app.example/cb', '--scope', 'files.read']

  const clients = (...args: string[]) => runCommand(server.database, ['clients', ...args])
  const create = (...args: string[]) => clients('create', ...args)

  async function created(...args: string[]) {
    const { code, out, said } = await create(...args, '--json')
    expect([code, said]).toEqual([0, ''])
    return JSON.parse(out)
  }

  describe('clients create', () => {
    test('--resource limits the client to APIs; clients update replaces them', async () => {
      for (const name of ['files', 'reports'])
        await runCommand(server.database, [
          'resource-servers',
          'create',
          '--name',
          name,
          '--audience',
          `https://${name}.example`
        ])
      const { client_id: clientId, resources } = await created(...BASE, '--resource', 'files', '--resource', 'reports')
      expect(resources).toEqual(['https://files.example', 'https://reports.example'])
      const update = async (resource: string) => {
        const args = ['clients', 'update', clientId, '--resource', resource, '--json']
        return JSON.parse((await runCommand(server.database, args)).out).resources
      }
      expect([await update('files'), await update('')]).toEqual([['https://files.example'], []])
    })

    test('--json prints one document with a secret that works at the token endpoint', async () => {
      const client = await created(...BASE)
      expect(client).toEqual({
        client_id: expect.stringMatching(/^[0-9A-Za-z]{22}$/),
        name: 'Photo Printer',
        type: 'confidential',
        redirect_uris: ['https://app.example/cb'],
        scope: 'files.read',
        optional_scope: '',
        refresh: true,
        refresh_rotation: true,
        require_pkce: false,
        dpop_bound_access_tokens: false,
        require_par: false,
        profile: 'none',
        resources: [],
        consent: 'ask',
        verified: false,
        disabled: false,
        origin: 'registered',
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        client_secret: expect.any(String),
        secret_id: expect.stringMatching(/^[0-9a-f]{12}$/)
      })
      expect(isWellFormed('clientSecret', client.client_secret)).toBe(true)
      const credentials = bodyCredentials({ clientId: client.client_id, clientSecret: client.client_secret })
      const answer = await post(server, '/token', { grant_type: 'other', ...credentials })
      expect(answer.json()).toMatchObject({ error: 'unsupported_grant_type' })
    })

    test('--env prints the settings of an app for a shell', async () => {
      const args = ['--name', 'Local', '--redirect-uri', 'http://127.0.0.1:4280/callback', '--scope', 'files.read']
      const { code, out } = await create(...args, '--env')
      expect(code).toBe(0)
      expect(out).toMatch(
        /^export PORT=4280\nexport CLIENT_ID=[0-9A-Za-z]{22}\nexport CLIENT_SECRET=[0-9A-Za-z_-]+\n# Next: [^\n]+\n$/
      )
    })

    test('--env for a public client has no secret, and no port of a server', async () => {
      expect((await create(...BASE, '--public', '--env')).out).toMatch(/^export CLIENT_ID=[0-9A-Za-z]{22}\n# Next: /)
    })

    test('--env with the addresses of the service', async () => {
      const addresses = { ISSUER: 'http://localhost:4000', RESOURCE_URL: 'http://localhost:4100' }
      const { out } = await runCommand(server.database, ['clients', 'create', ...BASE, '--env'], {
        environment: addresses
      })
      expect(out).toContain('export ISSUER=http://localhost:4000\nexport RESOURCE_URL=http://localhost:4100\n')
    })

    test('without --json: the id, the secret, and that it is shown once', async () => {
      const { code, out } = await create(...BASE)
      expect(code).toBe(0)
      expect(out).toMatch(
        /^Registered client Photo Printer\nclient id: {5}\w{22}\nclient secret: vk_cs_\w{49}\nIt is shown only once\.\n$/
      )
    })

    test.each([
      { args: ['--public'], result: { type: 'public', require_pkce: true, refresh: true } },
      { args: ['--no-refresh'], result: { refresh: false, type: 'confidential' } },
      { args: ['--require-pkce'], result: { require_pkce: true, type: 'confidential' } },
      { args: ['--no-refresh-rotation'], result: { refresh_rotation: false } },
      { args: ['--require-par'], result: { require_par: true, require_pkce: false } },
      { args: ['--consent', 'remember'], result: { consent: 'remember' } },
      { args: ['--verified'], result: { verified: true } },
      {
        args: ['--redirect-uri', 'http://127.0.0.1/cb'],
        result: { redirect_uris: ['https://app.example/cb', 'http://127.0.0.1/cb'] }
      },
      { args: ['--redirect-uri', 'https://app.example/cb'], result: { redirect_uris: ['https://app.example/cb'] } },
      {
        args: ['--redirect-uri', 'com.example.app:/cb'],
        result: { redirect_uris: ['https://app.example/cb', 'com.example.app:/cb'] }
      },
      { args: ['--scope', 'files.read:images  files.read'], result: { scope: 'files.read files.read:images' } },
      {
        args: ['--optional-scope', 'files.read:media', '--optional-scope', 'files.read:images'],
        result: { scope: 'files.read', optional_scope: 'files.read:media files.read:images' }
      },
      {
        args: ['--optional-scope', 'files.read files.read:media'],
        result: { scope: 'files.read', optional_scope: 'files.read:media' }
      }
    ] as { args: string[]; result: object }[])('$args', async ({ args, result }) => {
      expect(await created(...BASE, ...args)).toMatchObject(result)
    })

    test('the error for scopes that are separated by commas says how to separate them', async () => {
      const { code, said } = await create(...BASE, '--scope', 'files.read:images,files.read:media')
      expect([code, said]).toEqual([2, expect.stringContaining('(separate scopes by spaces, not by commas)')])
    })

    test('a public client has no secret', async () => {
      expect(await created(...BASE, '--public')).not.toHaveProperty('client_secret')
      expect((await create(...BASE, '--public')).out).not.toContain('secret')
    })

    test('optional scopes alone are accepted', async () => {
      const args = ['--name', 'x', '--redirect-uri', 'https://app.example/cb', '--optional-scope', 'files.read']
      expect(await created(...args)).toMatchObject({ scope: '', optional_scope: 'files.read' })
    })

    test('the same command twice registers two clients', async () => {
      const [first, second] = [await created(...BASE), await created(...BASE)]
      expect(first.client_id).not.toBe(second.client_id)
      expect(first.client_secret).not.toBe(second.client_secret)
    })

    test.each([
      'http://app.example/cb',
      'http://127.0.0.1.evil.example/cb',
      'http://localhost.evil.example/cb',
      'javascript:alert(1)',
      'data:text/html,x',
      'file:///etc/passwd',
      'myapp:/cb',
      'https://app.example/cb#fragment',
      'https://app.example/*',
      'https://*.example/cb',
      'https://user@app.example/cb',
      'https://user:word@app.example/cb',
      'https://app.example/a/../cb',
      'https://APP.example/cb',
      'https://app.example/cb?code=x',
      'https://app.example/c b',
      'https://app.example\\@evil.example',
      '/cb',
      'app.example/cb',
      ''
    ])('the redirect URI %j is wrong usage (2), and no client is registered', async (uri) => {
      const before = JSON.parse((await clients('list', '--json')).out).clients.length
      const { code, out, said } = await create(...BASE, '--redirect-uri', uri)
      expect([code, out]).toEqual([2, ''])
      expect(said).toContain('redirect URI')
      expect(JSON.parse((await clients('list', '--json')).out).clients).toHaveLength(before)
    })

    test.each([
      { name: 'no name', args: BASE.slice(2) },
      { name: 'no redirect URI', args: [...BASE.slice(0, 2), ...BASE.slice(4)] },
      { name: 'no scope', args: BASE.slice(0, 4) },
      { name: 'an empty scope', args: [...BASE.slice(0, 4), '--scope', ' '] },
      {
        name: 'an unknown scope',
        args: [...BASE, '--scope', 'flies.read:images'],
        said: 'not in the scope catalogue: flies.read:images (did you mean files.read:images'
      },
      {
        name: 'an unknown optional scope that is like no other',
        args: [...BASE, '--optional-scope', 'nothing'],
        said: 'not in the scope catalogue: nothing (it has files.read '
      },
      {
        name: 'a list of scopes with commas',
        args: [...BASE, '--scope', 'files.read,files.read:images'],
        said: '(separate scopes by spaces, not by commas)'
      },
      { name: 'an empty name', args: ['--name', ' ', ...BASE.slice(2)] },
      { name: 'a name over 100 characters', args: ['--name', 'x'.repeat(101), ...BASE.slice(2)] },
      { name: 'a name of two lines', args: ['--name', 'a\nb', ...BASE.slice(2)] },
      {
        name: 'a name with a character that changes the text direction',
        args: [...BASE, '--name', 'Photo \u202eretnirP'],
        said: 'direction'
      },
      { name: 'an unknown consent policy', args: [...BASE, '--consent', 'never'], said: 'ask or remember' },
      {
        name: 'a public client with remembered consent',
        args: [...BASE, '--public', '--consent', 'remember'],
        said: 'public'
      },
      { name: 'an unknown option', args: [...BASE, '--secret', 'x'], said: '--secret' },
      { name: 'one argument too many', args: [...BASE, 'x'] }
    ] as { name: string; args: string[]; said?: string }[])('$name is wrong usage (2)', async ({ args, said = '' }) => {
      const result = await create(...args, '--json')
      expect([result.code, result.out]).toEqual([2, ''])
      expect(result.said).toContain(said)
      expect(result.said).not.toBe('')
    })
  })

  describe('clients show and list', () => {
    test('show prints what create printed, without a secret', async () => {
      const {
        client_secret: secret,
        secret_id: _id,
        ...registration
      } = await created(...BASE, '--optional-scope', 'files.read:media')
      const shown = await clients('show', registration.client_id, '--json')
      expect([shown.code, JSON.parse(shown.out)]).toEqual([0, registration])
      const listed = await clients('list', '--json')
      expect(JSON.parse(listed.out).clients).toContainEqual(registration)
      for (const { out } of [shown, listed, await clients('show', registration.client_id), await clients('list')])
        expect(out).not.toMatch(new RegExp(`${secret}|secret`))
    })

    test('show of an unknown client is 3', async () => {
      const { code, out, said } = await clients('show', 'unknown', '--json')
      expect([code, out, said]).toEqual([3, '', 'there is no client unknown'])
    })

    test('without --json: one line per member or client', async () => {
      const { client_id: clientId } = await created(...BASE)
      expect((await clients('show', clientId)).out).toMatch(
        /^client_id: \w{22}\nname: Photo Printer\ntype: confidential\n/
      )
      expect((await clients('list')).out).toMatch(/^CLIENT ID +NAME +TYPE +STATE +REDIRECT URIS\n/)
    })
  })
})

describe('options', () => {
  let admin: Administration

  beforeAll(async () => {
    admin = await startAdministration(server)
  })

  const create = (args: readonly string[], stdin = '') =>
    runCommand(server.database, ['clients', 'create', '--scope', 'files.read', ...args], { stdin })

  const METHODS = 'accepted in HTTP Basic, form-encoded or raw, and in a form'
  const SECRET = 'GOCSPX-kept~from.another+server'

  describe('--client-id and --secret-stdin', () => {
    const base = ['--name', 'Kept', '--redirect-uri', 'https://kept.example/cb', '--secret-stdin']

    test('keep both, so that the client authenticates as at the other server; the secret is not printed', async () => {
      const { code, out } = await create([...base, '--client-id', 'kept-1'], `${SECRET}\n`)
      const lines = ['Registered client Kept', 'client id:     kept-1', `client secret: kept; ${METHODS}`]
      expect([code, out]).toEqual([0, `${lines.join('\n')}\n`])
      const credentials = bodyCredentials({ clientId: 'kept-1', clientSecret: SECRET })
      const answer = await post(server, '/token', { grant_type: 'other', ...credentials })
      expect(answer.json()).toMatchObject({ error: 'unsupported_grant_type' })
    })

    test.each(['1234-abc.apps.example~2_x', '...', '~'])(
      'the id %s works with Basic, in paths and in filters',
      async (id) => {
        expect((await create([...base, '--client-id', id], SECRET)).code).toBe(0)
        const encoded = encodeURIComponent(id).replaceAll('~', '%7E')
        for (const clientId of [id, encoded]) {
          const authorization = basic({ clientId, clientSecret: encodeURIComponent(SECRET) })
          const answer = await post(server, '/token', { grant_type: 'other' }, authorization)
          expect(answer.json()).toMatchObject({ error: 'unsupported_grant_type' })
        }
        for (const segment of [id, encoded]) {
          expect((await admin.call('GET', `/clients/${segment}`)).json()).toMatchObject({ client_id: id })
        }
        expect((await admin.call('GET', `/audit?client_id=${encoded}`)).statusCode).toBe(200)
        const { code } = await runCommand(server.database, ['clients', 'delete', id, '--yes'])
        expect([code, (await admin.call('GET', `/clients/${id}`)).statusCode]).toEqual([0, 404])
      }
    )

    test.each(KEPT_SECRETS)('the secret %s works with every method, as libraries send it', async (clientSecret) => {
      const clientId = `kept-${randomUUID()}`
      expect((await create([...base, '--client-id', clientId], clientSecret)).code).toBe(0)
      const sent: Sent[] = [
        ...basicHeaders({ clientId, clientSecret }),
        { form: bodyCredentials({ clientId, clientSecret }) }
      ]
      for (const { headers, form } of sent) {
        const revocation = await post(server, '/oauth/revoke', { token: 'unknown', ...form }, headers)
        expect([revocation.statusCode, headers]).toEqual([200, headers])
      }
      const wrong = bodyCredentials({ clientId, clientSecret: `${clientSecret}=` })
      expect((await post(server, '/oauth/revoke', { token: 'unknown', ...wrong })).json().error).toBe('invalid_client')
    })

    test('a public client keeps its id alone', async () => {
      const args = ['--name', 'App', '--redirect-uri', 'https://app.example/cb', '--public', '--client-id', 'app-1']
      expect((await create(args)).out).toBe('Registered client App\nclient id:     app-1\n')
    })

    test('an id that exists is a conflict, and its secret stays', async () => {
      await create([...base, '--client-id', 'kept-2'], SECRET)
      const { code, said } = await create([...base, '--client-id', 'kept-2'], SECRET.toLowerCase())
      expect([code, said]).toEqual([4, 'client kept-2 exists already'])
      const credentials = bodyCredentials({ clientId: 'kept-2', clientSecret: SECRET })
      expect((await post(server, '/token', { grant_type: 'other', ...credentials })).json().error).not.toBe(
        'invalid_client'
      )
    })

    test.each([
      ['a short secret', ['--client-id', 'a'], 'too-short', /24 to 256 printable/],
      ['a secret with a space', ['--client-id', 'a'], 'a secret with spaces inside 0123', /24 to 256 printable/],
      ['an id with a space', ['--client-id', 'a b'], SECRET, /a client id must have/],
      ['an id that is a dot segment', ['--client-id', '..'], SECRET, /a client id must have .* and not be \. or \.\./],
      ['an id that is a URL', ['--client-id', 'https://app.example/client'], SECRET, /a client id must have/],
      ['no id', [], SECRET, /pass --client-id and --secret-stdin together/]
    ])('%s is wrong usage', async (_case, args, stdin, message) => {
      const { code, said } = await create([...base, ...args], stdin)
      expect([code, said]).toEqual([2, expect.stringMatching(message)])
    })
  })

  describe('filters of clients list', () => {
    beforeAll(async () => {
      const named = (name: string, uri: string, ...more: string[]) =>
        create(['--name', name, '--redirect-uri', uri, ...more])
      await named('Alpha Plotter', 'https://alpha.example/cb')
      await named(
        'Beta',
        'https://beta.example/cb',
        '--scope',
        'files.read:documents',
        '--client-id',
        'beta',
        '--public'
      )
      await runCommand(server.database, ['clients', 'disable', 'beta', '--yes'])
    })

    test.each([
      [['--name', 'PLOTTER'], ['Alpha Plotter']],
      [['--redirect-uri', 'beta.example'], ['Beta']],
      [['--scope', 'files.read:documents'], ['Beta']],
      [['--disabled'], ['Beta']],
      [['--disabled', '--name', 'alpha'], []]
    ])('%j', async (args, names) => {
      const { out } = await runCommand(server.database, ['clients', 'list', '--json', ...args])
      expect(JSON.parse(out).clients.map(({ name }: { name: string }) => name)).toEqual(names)
    })

    test('the table shows the redirect URIs', async () => {
      const { out } = await runCommand(server.database, ['clients', 'list', '--name', 'alpha'])
      expect(out).toMatch(/ REDIRECT URIS\n.* enabled +https:\/\/alpha\.example\/cb\n$/)
    })
  })
})
