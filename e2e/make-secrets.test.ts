import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'

const program = fileURLToPath(new URL('../infra/docker/make-secrets.mjs', import.meta.url))
const RESOURCE_URL = 'http://localhost:4100'
const VOLUMES = ['authorization', 'files', 'postgres', 'redis']

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'valetkey-secrets-'))
  for (const volume of VOLUMES) mkdirSync(path.join(folder, volume))
})
afterEach(() => rmSync(folder, { recursive: true }))

const start = (resourceUrl = RESOURCE_URL) => execFileSync(process.execPath, [program, folder, resourceUrl])
const read = (name: string): string => readFileSync(path.join(folder, name), 'utf8')

function replace(name: string, value: string): void {
  rmSync(path.join(folder, name), { force: true })
  writeFileSync(path.join(folder, name), value)
}

/** All files with their content. */
function secrets(): Record<string, string> {
  const names = VOLUMES.flatMap((volume) => readdirSync(path.join(folder, volume)).map((name) => `${volume}/${name}`))
  return Object.fromEntries(names.map((name) => [name, read(name)]))
}

describe('secrets of the compose stack', () => {
  test('the first start creates them: all different, and read-only', () => {
    start()
    const made = Object.entries(secrets())
    expect(made.map(([name]) => name).sort()).toEqual([
      'authorization/cookie-keys',
      'authorization/database-url',
      'authorization/redis-url',
      'files/database-url',
      'files/introspection-client-id',
      'files/introspection-client-mark',
      'files/introspection-client-secret',
      'files/page-token-keys',
      'postgres/authorization-password',
      'postgres/files-password',
      'postgres/superuser-password',
      'redis/password',
      'redis/redis.conf'
    ])
    expect(new Set(made.map(([, value]) => value)).size).toBe(made.length)
    for (const [name] of made) expect([name, statSync(path.join(folder, name)).mode & 0o777]).toEqual([name, 0o444])
  })

  test('another start keeps all of them', () => {
    start()
    const before = secrets()
    start()
    expect(secrets()).toEqual(before)
  })

  test.each([
    [
      'postgres/authorization-password',
      { 'authorization/database-url': 'postgres://valetkey_authorization:NEW@postgres:5432/valetkey_authorization' }
    ],
    ['postgres/files-password', { 'files/database-url': 'postgres://valetkey_files:NEW@postgres:5432/valetkey_files' }],
    [
      'redis/password',
      { 'authorization/redis-url': 'redis://:NEW@redis:6379', 'redis/redis.conf': 'requirepass NEW\n' }
    ]
  ])('another %s changes only the secrets derived from it', (name, followers) => {
    start()
    const before = secrets()
    replace(name, 'NEW\n')
    start()
    expect(secrets()).toEqual({ ...before, [name]: 'NEW\n', ...followers })
  })

  test('a change by an operator in a URL with a password is kept, and so is the URL of another server', () => {
    start()
    replace('files/database-url', 'postgres://files:theirs@db.example:5432/files')
    replace('redis/redis.conf', 'maxclients 500\nrequirepass old\ntimeout 0\n')
    replace('redis/password', 'NEW')
    start()
    expect(read('files/database-url')).toBe('postgres://files:theirs@db.example:5432/files')
    expect(read('redis/redis.conf')).toBe('maxclients 500\nrequirepass NEW\ntimeout 0\n')
  })

  describe('the credential of the resource server', () => {
    const id = () => read('files/introspection-client-id')

    test('an id and a secret of an operator are kept', () => {
      start()
      replace('files/introspection-client-id', 'theirs\n')
      replace('files/introspection-client-secret', 'a-secret-of-theirs')
      start()
      start()
      expect([id(), read('files/introspection-client-secret')]).toEqual(['theirs', 'a-secret-of-theirs'])
    })

    test.each(['', 'theirs'])('another secret or another audience creates one new id (id before: %p)', (before) => {
      start()
      if (before !== '') replace('files/introspection-client-id', before)
      start()
      const seen = [id()]
      replace('files/introspection-client-secret', 'another-secret')
      for (const audience of [RESOURCE_URL, 'https://files.example']) {
        start(audience)
        seen.push(id())
        start(audience)
        expect(id()).toBe(seen.at(-1))
      }
      expect(new Set(seen).size).toBe(3)
    })

    test('the same secret and audience create the same id again', () => {
      start()
      const before = id()
      start('https://files.example')
      start()
      expect(id()).toBe(before)
    })

    test.each([
      [RESOURCE_URL, true],
      ['https://files.example', false]
    ])('an id from before marks existed keeps its audience: %s', (audience, stays) => {
      start()
      rmSync(path.join(folder, 'files/introspection-client-mark'))
      const former = `files-${createHash('sha256').update(RESOURCE_URL).digest('hex').slice(0, 16)}`
      replace('files/introspection-client-id', former)
      start(audience)
      expect(id() === former).toBe(stays)
    })
  })
})
