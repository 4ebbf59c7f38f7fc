import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import sharp from 'sharp'
import { changesIn, lastChangeIn } from '../../support/administration.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { OPERATOR, runCommand } from '../../support/command-line.js'
import { exchange, PASSWORD, refresh } from '../../support/flow.js'
import { isActive, obtainTokens } from '../../support/tokens.js'

let server: TestServer
const clients = (...args: string[]) => runCommand(server.database, ['clients', ...args])

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

describe('changes', () => {
  const actor = { kind: 'command_line', name: OPERATOR }
  let resourceServer: Credentials
  let client: Credentials
  let id: string

  beforeAll(async () => {
    await server.createUser('alice', PASSWORD)
    resourceServer = await server.createResourceServer()
  })
  beforeEach(async () => {
    client = await server.createClient({ optionalScopes: ['files.read:media'] })
    id = client.clientId
  })
  const shown = async () => JSON.parse((await clients('show', id, '--json')).out)

  async function updated(...args: string[]) {
    const { code, out, said } = await clients('update', id, ...args, '--json')
    expect([code, said]).toEqual([0, ''])
    return JSON.parse(out)
  }

  describe('clients update', () => {
    test.each([
      { args: ['--name', ' Album '], change: { name: 'Album' } },
      { args: ['--redirect-uri', 'https://a.example/cb'], change: { redirect_uris: ['https://a.example/cb'] } },
      { args: ['--scope', 'files.read:documents'], change: { scope: 'files.read:documents' } },
      {
        args: ['--scope', 'files.read', '--scope', 'files.read:media'],
        change: { scope: 'files.read files.read:media', optional_scope: '' }
      },
      { args: ['--optional-scope', ''], change: { optional_scope: '' } },
      { args: ['--no-refresh'], change: { refresh: false } },
      { args: ['--require-pkce'], change: { require_pkce: true } },
      { args: ['--no-refresh-rotation'], change: { refresh_rotation: false } },
      { args: ['--require-par'], change: { require_par: true } },
      { args: ['--consent', 'remember'], change: { consent: 'remember' } },
      { args: ['--verified'], change: { verified: true } },
      { args: ['--access-token-ttl', '10m'], change: { access_token_ttl: 600 } },
      {
        args: ['--refresh-token-idle-ttl', '86400', '--refresh-token-max-ttl', '7d'],
        change: { refresh_token_idle_ttl: 86_400, refresh_token_max_ttl: 604_800 }
      }
    ] as { args: string[]; change: Record<string, unknown> }[])(
      '$args changes only this member',
      async ({ args, change }) => {
        const before = await shown()
        const after = await updated(...args)
        expect(after).toEqual({ ...before, ...change })
        expect(await shown()).toEqual(after)
        const members = Object.keys(change)
        const changes = Object.fromEntries(members.map((name) => [name, { from: before[name], to: change[name] }]))
        expect(await lastChangeIn(server)).toMatchObject({
          event: 'client_updated',
          client_id: id,
          details: { actor, changes: JSON.parse(JSON.stringify(changes)) }
        })
      }
    )

    test.each([
      { on: ['--no-refresh'], off: ['--refresh'] },
      { on: ['--require-pkce'], off: ['--no-require-pkce'] },
      { on: ['--no-refresh-rotation'], off: ['--refresh-rotation'] },
      { on: ['--require-par'], off: ['--no-require-par'] },
      { on: ['--verified'], off: ['--no-verified'] },
      { on: ['--access-token-ttl', '60'], off: ['--access-token-ttl', 'default'] }
    ])('$off reverts $on', async ({ on, off }) => {
      const before = await shown()
      await updated(...on)
      expect(await updated(...off)).toEqual(before)
    })

    test('an update to the current values changes nothing and records no event', async () => {
      const { name, consent } = await shown()
      const events = await changesIn(server)
      await updated('--name', name, '--consent', consent, '--refresh')
      expect(await changesIn(server)).toEqual(events)
    })

    test.each([
      { name: 'nothing', args: [], said: 'nothing to change: pass at least one option' },
      { name: 'an empty name', args: ['--name', ' '], said: 'a name' },
      { name: 'a bad redirect URI', args: ['--redirect-uri', 'http://app.example/'], said: 'redirect URI' },
      { name: 'an unknown scope', args: ['--scope', 'nothing.at.all'], said: 'nothing.at.all' },
      {
        name: 'neither required nor optional scopes',
        args: ['--scope', '', '--optional-scope', ''],
        said: 'at least one scope'
      },
      { name: 'an unknown policy', args: ['--consent', 'never'], said: 'ask or remember' },
      { name: 'a lifetime of 0', args: ['--access-token-ttl', '0'], said: 'access_token_ttl' },
      { name: 'a lifetime above the maximum', args: ['--access-token-ttl', '31d'], said: 'access_token_ttl' },
      {
        name: 'a lifetime that is not a duration',
        args: ['--refresh-token-max-ttl', 'ever'],
        said: '--refresh-token-max-ttl'
      },
      { name: 'the client type', args: ['--public'], said: '--public' }
    ])('$name is wrong usage (2), and changes nothing', async ({ args, said }) => {
      const before = await shown()
      const result = await clients('update', id, ...args, '--json')
      expect([result.code, result.out]).toEqual([2, ''])
      expect(result.said).toContain(said)
      expect(await shown()).toEqual(before)
    })

    test('a public client keeps PKCE and consent every time', async () => {
      const { clientId } = await server.createClient({ type: 'public', requiresPkce: true })
      for (const args of [['--no-require-pkce'], ['--consent', 'remember']]) {
        const { code, said } = await clients('update', clientId, ...args)
        expect([code, said]).toEqual([2, expect.stringContaining('public client')])
      }
    })

    test('tokens stay valid, unless the client loses their scope; with --no-refresh the client cannot refresh', async () => {
      const tokens = await obtainTokens(server, client)
      await updated('--no-refresh', '--redirect-uri', 'https://other.example/cb')
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
      await updated('--scope', 'files.read:documents')
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
      expect((await refresh(server, client, tokens.refresh_token)).json().error).toBe('unauthorized_client')
    })

    test('four concurrent updates: every update with exit code 0 is stored and audited', async () => {
      const names = Array.from({ length: 4 }, (_, index) => `Name ${index}`)
      const results = await Promise.all(names.map((name) => clients('update', id, '--name', name, '--json')))
      const events = (await changesIn(server)).filter((event) => event.client_id === id)
      const chain = events.map(({ details }) => (details.changes as { name: { from: string; to: string } }).name)
      for (const [index, step] of chain.entries()) expect(step.from).toBe(chain[index - 1]?.to ?? 'Photo Printer')
      expect(chain.at(-1)?.to).toBe((await shown()).name)
      expect(results.filter(({ code }) => code === 0)).toHaveLength(chain.length)
      expect(results.every(({ code }) => code === 0 || code === 4)).toBe(true)
    })
  })

  describe('clients disable and enable', () => {
    test('disable ends tokens and refuses the client; enable accepts it, and tokens stay ended', async () => {
      const tokens = await obtainTokens(server, client)
      const { code, out } = await clients('disable', id, '--yes', '--json')
      expect([code, JSON.parse(out).disabled]).toEqual([0, true])
      expect(await lastChangeIn(server)).toMatchObject({ event: 'client_disabled', client_id: id, details: { actor } })
      expect((await exchange(server, client, 'x')).statusCode).toBe(401)
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
      expect(JSON.parse((await clients('enable', id, '--json')).out).disabled).toBe(false)
      expect(await lastChangeIn(server)).toMatchObject({ event: 'client_enabled', client_id: id, details: { actor } })
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
      expect((await refresh(server, client, tokens.refresh_token)).json().error).toBe('invalid_grant')
      expect(await isActive(server, resourceServer, (await obtainTokens(server, client)).access_token)).toBe(true)
    })

    test.each([['disable', '--yes'], ['enable']])(
      '%s a second time changes nothing and records no event',
      async (...args) => {
        const [command = '', ...options] = args
        await clients('disable', id, '--yes')
        await clients(command, id, ...options)
        const events = await changesIn(server)
        expect((await clients(command, id, ...options)).code).toBe(0)
        expect(await changesIn(server)).toEqual(events)
      }
    )
  })

  describe('clients delete', () => {
    test('deletes the client with its secrets, ends its tokens, and audits its last state', async () => {
      const tokens = await obtainTokens(server, client)
      const { code, out } = await clients('delete', id, '--yes', '--json')
      expect([code, JSON.parse(out).client_id]).toEqual([0, id])
      expect(await lastChangeIn(server)).toMatchObject({
        event: 'client_deleted',
        client_id: id,
        details: { actor, name: 'Photo Printer', scope: 'files.read files.read:images' }
      })
      expect((await clients('show', id)).code).toBe(3)
      expect((await exchange(server, client, 'x')).statusCode).toBe(401)
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
    })
  })

  describe('confirmation and unknown clients', () => {
    test.each(['disable', 'delete'])(
      '%s asks with the client name; No changes nothing (1); without a terminal 2',
      async (command) => {
        const no = await runCommand(server.database, ['clients', command, id], { answer: false })
        expect([no.code, no.said]).toEqual([1, expect.stringContaining('Photo Printer')])
        expect((await clients(command, id)).code).toBe(2)
        expect((await shown()).disabled).toBe(false)
        expect((await runCommand(server.database, ['clients', command, id], { answer: true })).code).toBe(0)
      }
    )

    test.each([['update', '--name', 'x'], ['disable', '--yes'], ['enable'], ['delete', '--yes']])(
      '%s of an unknown client is 3',
      async (command, ...options) => {
        const { code, out, said } = await clients(command, 'unknown', ...options)
        expect([code, out, said]).toEqual([3, '', 'there is no client unknown'])
      }
    )
  })
})

describe('branding and state', () => {
  let directory: string
  let id: string

  beforeAll(async () => {
    directory = mkdtempSync(path.join(tmpdir(), 'logos-'))
    for (const background of ['red', 'blue', 'green']) {
      const create = { width: 20, height: 10, channels: 3, background } as const
      await sharp({ create })
        .png()
        .toFile(file(`${background}.png`))
    }
    writeFileSync(file('page.png'), '<!doctype html><script>alert(1)</script>')
    writeFileSync(file('huge.png'), Buffer.alloc(1024 * 1024 + 1))
  })
  beforeEach(async () => {
    id = (await server.createClient({ verified: true, name: 'Photo Printer' })).clientId
  })
  afterAll(async () => {
    rmSync(directory, { recursive: true })
  })

  const file = (name: string) => path.join(directory, name)
  const shown = async (clientId = id) => JSON.parse((await clients('show', clientId, '--json')).out)

  const TEXTS = {
    home_page: 'https://printer.example/',
    publisher: 'Example GmbH',
    privacy_policy: 'https://printer.example/privacy',
    terms: 'https://printer.example/terms'
  }
  const OPTIONS = Object.entries(TEXTS).flatMap(([name, value]) => [`--${name.replace('_', '-')}`, value])

  describe('branding', () => {
    test('clients create stores it, verified with --verified, and clients show prints it', async () => {
      const required = ['--name', 'Album', '--redirect-uri', 'https://app.example/cb', '--scope', 'files.read']
      const made = await clients('create', ...required, ...OPTIONS, '--logo', file('red.png'), '--verified', '--json')
      expect([made.code, made.said]).toEqual([0, ''])
      const { client_id: clientId, logo } = JSON.parse(made.out)
      expect(await shown(clientId)).toMatchObject({ ...TEXTS, verified: true, logo })
      expect((await clients('show', clientId)).out).toContain('publisher: Example GmbH\n')
      const answer = await server.publicServer.inject(`/logos/${logo}.png`)
      expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'image/png'])
    })

    test('clients update replaces each member alone, an empty text removes it, and the event names both', async () => {
      const before = await shown()
      await clients('update', id, ...OPTIONS, '--logo', file('red.png'), '--verified')
      const full = await shown()
      expect(full).toEqual({ ...before, ...TEXTS, logo: expect.stringMatching(/^[0-9a-f]{64}$/) })
      await clients('update', id, '--terms', '')
      const { terms, ...rest } = full
      expect(await shown()).toEqual(rest)
      const details = { changes: { terms: { from: terms } } }
      expect(await lastChangeIn(server)).toMatchObject({ event: 'client_updated', client_id: id, details })
      await clients('update', id, '--logo', '')
      expect((await shown()).logo).toBeUndefined()
      const removal = { changes: { logo: { from: full.logo } } }
      expect(await lastChangeIn(server)).toMatchObject({ details: removal })
    })

    test('the logo that the client has already is no change', async () => {
      await clients('update', id, '--logo', file('red.png'))
      const events = await changesIn(server)
      expect((await clients('update', id, '--logo', file('red.png'))).code).toBe(0)
      expect(await changesIn(server)).toEqual(events)
    })

    test('of two logos at the same moment, one is the logo, and both changes are recorded', async () => {
      const before = (await changesIn(server)).length
      const both = ['red.png', 'blue.png'].map((name) => clients('update', id, '--logo', file(name)))
      expect((await Promise.all(both)).map(({ code }) => code)).toEqual([0, 0])
      const added = (await changesIn(server)).slice(before)
      const changes = added.map(({ details }) => details.changes as { logo: { from?: string; to: string } })
      expect(changes[1]?.logo.from).toBe(changes[0]?.logo.to)
      expect((await shown()).logo).toBe(changes[1]?.logo.to)
    })
  })

  describe('verified', () => {
    test.each([
      ['--name', 'Album'],
      ['--publisher', 'Other GmbH'],
      ['--home-page', 'https://other.example/']
    ])('ends with a new %s, and the command reports it', async (option, value) => {
      const { code, said, out } = await clients('update', id, option, value, '--json')
      expect([code, JSON.parse(out).verified]).toEqual([0, false])
      expect(said).toContain('not verified any more')
      expect(await lastChangeIn(server)).toMatchObject({
        details: { changes: { verified: { from: true, to: false } } }
      })
    })

    test.each([
      { args: ['--name', 'Album', '--publisher', 'Other GmbH', '--verified'], verified: true },
      { args: ['--terms', 'https://other.example/', '--privacy-policy', 'https://other.example/'], verified: true },
      { args: ['--name', 'Photo Printer'], verified: true },
      { args: ['--name', 'Album', '--no-verified'], verified: false }
    ])('is $verified after $args, without a message', async ({ args, verified }) => {
      const { code, said } = await clients('update', id, ...args)
      expect([code, said, (await shown()).verified]).toEqual([0, '', verified])
    })
  })

  describe('refused', () => {
    test.each([
      { args: () => ['--home-page', 'http://printer.example/'], said: 'the home page must be an https address' },
      { args: () => ['--terms', 'https://a@printer.example/'], said: 'the terms must not contain a user name' },
      { args: () => ['--privacy-policy', 'printer.example'], said: 'the privacy policy is not a complete address' },
      { args: () => ['--privacy-policy', `https://a.example/${'a'.repeat(2_000)}`], said: 'at most 2,000 characters' },
      { args: () => ['--publisher', 'p'.repeat(81)], said: 'the publisher must have 1 to 80 characters' },
      { args: () => ['--publisher', 'Example\u202e'], said: 'the publisher must not contain characters that change' },
      { args: () => ['--logo', 'https://printer.example/logo.png'], said: 'cannot be read; pass the path of a file' },
      { args: () => ['--logo', directory], said: 'cannot be read; pass the path of a file' },
      { args: () => ['--logo', file('page.png')], said: 'a complete PNG, JPEG or WebP image' },
      { args: () => ['--logo', file('huge.png')], said: 'at most 1 MiB' },
      { args: () => ['--logo', '/dev/zero'], said: 'at most 1 MiB' }
    ])('$said (2), and nothing changes', async ({ args, said }) => {
      const before = await shown()
      const result = await clients('update', id, ...args())
      expect([result.code, result.out]).toEqual([2, ''])
      expect(result.said).toContain(said)
      expect(await shown()).toEqual(before)
    })

    test('a logo of an unknown client (3) is not stored', async () => {
      const count = () =>
        server.database.query({ name: 'count_logos', text: 'select hash from client_logos', values: [] })
      const before = await count()
      expect((await clients('update', 'unknown', '--logo', file('green.png'))).code).toBe(3)
      expect(await count()).toEqual(before)
    })
  })
})
