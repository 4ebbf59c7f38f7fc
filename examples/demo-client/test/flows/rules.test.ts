import { describe, expect, test } from '@jest/globals'
import { readConfig } from '../../src/config.js'
import { humanSize } from '../../src/files.js'
import { startHarness } from '../support/harness.js'

describe('settings', () => {
  const good = {
    ISSUER: 'http://localhost:4000',
    RESOURCE_URL: 'http://localhost:4100',
    CLIENT_ID: 'photo-printer',
    CLIENT_SECRET: 'vk_cs_hush',
    BASE_URL: 'http://127.0.0.1:4200',
    LISTEN: '127.0.0.1:4200'
  }

  function problemsOf(change: Record<string, string | undefined>): readonly string[] {
    try {
      readConfig({ ...good, ...change })
      return []
    } catch (error) {
      return (error as Error).message.split('\n')
    }
  }

  test('valid ones give the redirect URI and the listen address', () => {
    expect(readConfig(good)).toMatchObject({
      redirectUri: 'http://127.0.0.1:4200/callback',
      listen: { host: '127.0.0.1', port: 4200 }
    })
    expect(readConfig({ ...good, LISTEN: '[::1]:80' }).listen).toEqual({ host: '::1', port: 80 })
  })

  test('all missing: one line each', () => {
    const nothing = Object.fromEntries(Object.keys(good).map((name) => [name, undefined]))
    expect(problemsOf(nothing).map((line) => line.split(':')[0])).toEqual(Object.keys(good))
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
    const problems = problemsOf(change)
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

describe('limits of sessions', () => {
  test('pending flows: the eleventh removes the first, and each can be finished once', async () => {
    const harness = await startHarness()
    const browser = harness.browser()
    const callbacks: string[] = []
    for (let number = 1; number <= 11; number += 1)
      callbacks.push(harness.authorizationServer.allow(await browser.startConnecting()))
    const [first = '', second = ''] = callbacks
    const outcomes = [await browser.get(first), await browser.get(second), await browser.get(second)]
    expect(outcomes.map(({ statusCode }) => statusCode)).toEqual([400, 303, 400])
    await harness.stop()
  })

  test('in number: a new session removes the least recently used one', async () => {
    const harness = await startHarness({ maxSessions: 2 })
    const first = harness.browser()
    const second = harness.browser()
    await first.get('/')
    await second.get('/')
    const cookies = [first, second].map(({ cookies }) => cookies.get('photo_printer'))
    await first.get('/')
    await harness.browser().get('/')
    await first.get('/')
    await second.get('/')
    const kept = [first, second].map((browser, index) => browser.cookies.get('photo_printer') === cookies[index])
    expect(kept).toEqual([true, false])
    await harness.stop()
  })

  test('in time: a session that was not used for eight hours has ended', async () => {
    const harness = await startHarness()
    const browser = harness.browser()
    await browser.get('/')
    const idAfter = async (hours: number) => {
      harness.clock.offset += hours * 3_600_000
      await browser.get('/')
      return browser.cookies.get('photo_printer')
    }
    const id = await idAfter(0)
    expect(await idAfter(7)).toBe(id)
    expect(await idAfter(7)).toBe(id)
    expect(await idAfter(9)).not.toBe(id)
    await harness.stop()
  })
})
