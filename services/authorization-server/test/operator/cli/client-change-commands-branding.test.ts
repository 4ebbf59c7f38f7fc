import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import sharp from 'sharp'
import { changesIn, lastChangeIn } from '../../support/administration.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'

let server: TestServer
let directory: string
let id: string

beforeAll(async () => {
  server = await startTestServer()
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
  await server.close()
  rmSync(directory, { recursive: true })
})

const file = (name: string) => path.join(directory, name)
const clients = (...args: string[]) => runCommand(server.database, ['clients', ...args])
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
    expect(await lastChangeIn(server)).toMatchObject({ details: { changes: { verified: { from: true, to: false } } } })
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
