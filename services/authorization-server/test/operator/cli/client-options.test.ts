import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Administration, startAdministration } from '../../support/administration.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
import { basic, bodyCredentials, post } from '../../support/flow.js'
import { basicHeaders, KEPT_SECRETS, type Sent } from '../../support/kept-secrets.js'

let server: TestServer
let admin: Administration

beforeAll(async () => {
  server = await startTestServer()
  admin = await startAdministration(server)
})
afterAll(() => server.close())

const create = (args: readonly string[], stdin = '') =>
  runCommand(server.database, ['clients', 'create', '--scope', 'files.read', ...args], { stdin })

const METHODS = 'accepted in HTTP Basic, form-encoded or raw, and in a form'
const SECRET = 'GOCSPX-kept~from.another+server'

describe('--client-id and --secret-stdin', () => {
  const base = ['--name', 'Kept', '--redirect-uri', 'https://kept.example/cb', '--secret-stdin']

  test('keep both, so that the client authenticates as at the other server; the secret is not printed', async () => {
    const { code, out } = await create([...base, '--client-id', 'kept-1'], `${SECRET}\n`)
    expect([code, out]).toEqual([0, `Registered client Kept\nclient id:     kept-1\nclient secret: kept; ${METHODS}\n`])
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
      const answer = await post(server, '/token', { grant_type: 'other', ...form }, headers)
      expect([answer.json().error, headers]).toEqual(['unsupported_grant_type', headers])
      const revocation = await post(server, '/oauth/revoke', { token: 'unknown', ...form }, headers)
      expect([revocation.statusCode, headers]).toEqual([200, headers])
    }
    for (const { headers } of basicHeaders({ clientId, clientSecret: `${clientSecret}=` })) {
      expect((await post(server, '/token', { grant_type: 'other' }, headers)).json().error).toBe('invalid_client')
    }
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
    await named('Alpha Printer', 'https://alpha.example/cb')
    await named('Beta', 'https://beta.example/cb', '--scope', 'files.read:images', '--client-id', 'beta', '--public')
    await runCommand(server.database, ['clients', 'disable', 'beta', '--yes'])
  })

  test.each([
    [['--name', 'PRINTER'], ['Alpha Printer']],
    [['--redirect-uri', 'beta.example'], ['Beta']],
    [['--scope', 'files.read:images'], ['Beta']],
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
