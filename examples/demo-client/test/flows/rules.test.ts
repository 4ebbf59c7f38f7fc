import { describe, expect, test } from '@jest/globals'
import { type Config, ConfigurationError, readConfig } from '../../src/config.js'
import { humanSize } from '../../src/files/file-row.js'
import { type PendingFlow, rememberFlow, takeFlow } from '../../src/session/pending-flows.js'
import { memorySessions } from '../../src/session/session-store.js'

describe('settings', () => {
  const good = {
    ISSUER: 'http://localhost:4000',
    RESOURCE_URL: 'http://localhost:4100',
    CLIENT_ID: 'photo-printer',
    CLIENT_SECRET: 'vk_cs_hush',
    BASE_URL: 'http://127.0.0.1:4200',
    LISTEN: '127.0.0.1:4200'
  }

  function problemsOf(change: Record<string, string | undefined>): readonly string[] | Config {
    try {
      return readConfig({ ...good, ...change })
    } catch (error) {
      if (error instanceof ConfigurationError) return error.problems
      throw error
    }
  }

  test('valid ones give the redirect URI and the listen address', () => {
    expect(readConfig(good)).toMatchObject({
      redirectUri: 'http://127.0.0.1:4200/callback',
      listen: { host: '127.0.0.1', port: 4200 }
    })
  })

  test('all missing: one line each', () => {
    const nothing = Object.fromEntries(Object.keys(good).map((name) => [name, undefined]))
    const problems = problemsOf(nothing) as readonly string[]
    expect(problems.map((line) => line.split(':')[0])).toEqual(Object.keys(good))
  })

  test.each([
    { ISSUER: 'localhost:4000' },
    { ISSUER: 'ftp://localhost' },
    { ISSUER: 'http://localhost:4000/' },
    { RESOURCE_URL: 'http://user:vk_cs_hush@localhost' },
    { BASE_URL: 'http://127.0.0.1:4200/app' },
    { LISTEN: '4200' },
    { LISTEN: '127.0.0.1:70000' }
  ])('%j is one problem that names the variable and no secret', (change) => {
    const problems = problemsOf(change) as readonly string[]
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(new RegExp(`^${Object.keys(change)[0]}: `))
    expect(problems[0]).not.toContain('vk_cs_hush')
  })
})

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [999, '999 bytes'],
  [1_000, '1.0 kB'],
  [9_949, '9.9 kB'],
  [48_213, '48 kB'],
  [999_499, '999 kB'],
  [999_500, '1.0 MB'],
  [5_300_000_000, '5.3 GB'],
  [Number.MAX_SAFE_INTEGER, '9.0 PB']
])('a size of %d bytes is shown as %s', (bytes, text) => {
  expect(humanSize(bytes)).toBe(text)
})

test('pending flows: the eleventh removes the first, and each can be taken once', () => {
  const flows = new Map<string, PendingFlow>()
  for (let number = 1; number <= 11; number += 1) rememberFlow(flows, `s${number}`, { codeVerifier: 'v', startedAt: 0 })
  expect(takeFlow(flows, 's1', 1)).toBeUndefined()
  expect(takeFlow(flows, 's2', 1)).toBeDefined()
  expect(takeFlow(flows, 's2', 1)).toBeUndefined()
})

test('sessions: limited in number, by removing the least recently used, and in time', () => {
  let time = 0
  const sessions = memorySessions(() => time, { capacity: 2, idleTime: 100 })
  const first = sessions.create()
  const second = sessions.create()
  sessions.find(first.id)
  sessions.create()
  expect(sessions.find(second.id)).toBeUndefined()
  expect(sessions.find(first.id)).toBe(first)
  time = 100
  expect(sessions.find(first.id)).toBeUndefined()
  sessions.create()
  expect(sessions.size()).toBe(1)
})
