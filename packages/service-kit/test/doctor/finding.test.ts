import { describe, expect, jest, test } from '@jest/globals'
import {
  evaluateInnerUrl,
  evaluatePostgresUrl,
  evaluatePublicUrl,
  isProduction
} from '../../src/doctor/evaluate-addresses.js'
import { evaluateClock, measureClock } from '../../src/doctor/evaluate-clock.js'
import { evaluateKeys } from '../../src/doctor/evaluate-keys.js'
import { evaluateProxies } from '../../src/doctor/evaluate-proxies.js'
import { fatal, ok, refuseFatal, warning } from '../../src/doctor/finding.js'
import { printFindings } from '../../src/doctor/report.js'

const now = new Date('2026-11-21T12:00:00Z')
const GOOD = '0123456789abcdef0123456789abcdef'
const OTHER = 'fedcba98765432100123456789abcdef'

test.each([
  ['https://auth.example', true],
  ['http://10.0.0.1:4000', true],
  ['http://localhost:4000', false],
  ['http://127.0.0.2', false],
  ['http://auth.localhost:4000', false],
  ['http://[::1]:4000', false],
  ['http://127.0.0.1.evil.example', true]
])('%s is production: %s', (issuer, expected) => {
  expect(isProduction(issuer)).toBe(expected)
})

test.each([
  ['https://auth.example', 'ok'],
  ['http://localhost:4000', 'ok'],
  ['http://auth.example', 'fatal']
])('a public URL %s: %s', (url, severity) => {
  expect(evaluatePublicUrl('ISSUER', url)).toMatchObject({ check: 'ISSUER', severity })
})

test.each<[readonly string[] | undefined, string, string]>([
  [undefined, 'https://auth.example', 'fatal'],
  [undefined, 'https://localhost:8443', 'fatal'],
  [undefined, 'http://localhost:4000', 'ok'],
  [[], 'https://auth.example', 'ok'],
  [['10.0.0.0/8', '192.0.2.1', '2400:cb00::/32', '2a06:98c0::/29', '::1'], 'https://auth.example', 'ok'],
  [['fc00::/7', 'fd00::/8', 'fe80::/10'], 'https://auth.example', 'ok'],
  [['10.0.0.1', '10.0.0.0/7'], 'https://auth.example', 'warning'],
  [['128.0.0.0/1'], 'http://localhost:4000', 'warning'],
  [['2000::/3'], 'https://auth.example', 'warning'],
  [['8000::/1'], 'https://auth.example', 'warning'],
  [['::/1'], 'https://auth.example', 'warning']
])('TRUSTED_PROXIES %j with the URL %s: %s', (networks, url, severity) => {
  const finding = evaluateProxies(networks, { setting: 'ISSUER', url })
  expect(finding).toMatchObject({ check: 'TRUSTED_PROXIES', severity })
})

test('without TRUSTED_PROXIES the error says what to set', () => {
  const finding = evaluateProxies(undefined, { setting: 'RESOURCE_URL', url: 'https://files.example' })
  expect(() => refuseFatal([finding])).toThrow(/^TRUSTED_PROXIES: .*RESOURCE_URL is https.*10\.0\.0\.0\/8, or to none/)
})

test.each([
  [{ host: 'cache', tls: false }, 'warning'],
  [{ host: 'cache', tls: true }, 'ok'],
  [{ host: '127.0.0.1', tls: false }, 'ok']
])('an internal address %j: %s', (address, severity) => {
  expect(evaluateInnerUrl('REDIS_URL', address).severity).toBe(severity)
})

test.each([
  ['postgres://u:hush@db/name', ['warning']],
  ['postgres://u:hush@db/name?sslmode=disable', ['warning']],
  ['postgres://u:hush@db/name?sslmode=no-verify', ['warning']],
  ['postgres://u:hush@db/name?sslmode=require', ['ok']],
  ['postgres://u:hush@127.0.0.1,db/name', ['ok', 'warning']]
])('the database URL %s: %j', (url, severities) => {
  const findings = evaluatePostgresUrl('DATABASE_URL', url)
  expect(findings.map(({ severity }) => severity)).toEqual(severities)
  expect(JSON.stringify(findings)).not.toContain('hush')
})

describe('keys', () => {
  const evaluate = (keys: readonly string[], change: { isProduction?: boolean; changedAt?: Date } = {}) =>
    evaluateKeys('COOKIE_KEYS', keys, { isProduction: true, changedAt: undefined, now, ...change })

  test.each([
    ['a good one', [GOOD], {}, ['ok']],
    ['one letter many times', ['k'.repeat(40)], {}, ['fatal']],
    ['one letter many times, on this machine', ['k'.repeat(40)], { isProduction: false }, ['warning']],
    ['a placeholder', ['change-me-change-me-1234567890-abcdef'], {}, ['fatal']],
    ['the same twice', [GOOD, GOOD], {}, ['warning']],
    ['many', [GOOD, OTHER, `${GOOD}1`, `${OTHER}1`], {}, ['warning']],
    ['an old file', [GOOD], { changedAt: new Date('2025-01-01') }, ['warning']],
    ['a new file', [GOOD], { changedAt: new Date('2026-11-01') }, ['ok']]
  ])('%s', (_name, keys, change, severities) => {
    const findings = evaluate(keys, change)
    expect(findings.map(({ severity }) => severity)).toEqual(severities)
    for (const key of keys) expect(JSON.stringify(findings)).not.toContain(key)
  })
})

test.each([
  [500, 'ok', /within 2 s/],
  [-5_000, 'warning', /5\.0 s behind/],
  [30_000, 'warning', /30\.0 s ahead/],
  [-30_001, 'fatal', /30\.0 s behind/],
  [120_000, 'fatal', /120\.0 s ahead/]
])('a clock %i ms ahead: %s', (offset, severity, what) => {
  expect(evaluateClock('clock', offset)).toMatchObject({ severity, what: expect.stringMatching(what) })
})

test('measureClock assumes that both directions take equally long', async () => {
  const now = jest.spyOn(Date, 'now').mockReturnValueOnce(1_000).mockReturnValueOnce(1_100)
  expect(await measureClock(async () => 11_050)).toBe(10_000)
  now.mockRestore()
})

describe('the report', () => {
  const complaint = { what: 'is wide open', why: 'An attacker may come in.', fix: 'close it' }
  const findings = [ok('window', 'is closed'), warning('garage', complaint), fatal('door', complaint)]
  const print = (json: boolean) => {
    let text = ''
    const count = printFindings({ out: (more) => (text += more) }, json, findings)
    return { text, count }
  }

  test('prints fatal findings first, with the reason and the fix', () => {
    const { text, count } = print(false)
    expect(count).toBe(1)
    expect(text.split('\n')).toEqual([
      'fatal    door: is wide open',
      '         An attacker may come in.',
      '         Fix: close it',
      'warning  garage: is wide open',
      '         An attacker may come in.',
      '         Fix: close it',
      'ok       window: is closed',
      '1 fatal, 1 warnings, 1 ok',
      ''
    ])
  })

  test('as JSON is one document', () => {
    expect(JSON.parse(print(true).text)).toEqual({
      findings: [
        { check: 'door', severity: 'fatal', ...complaint },
        { check: 'garage', severity: 'warning', ...complaint },
        { check: 'window', severity: 'ok', what: 'is closed' }
      ],
      fatal: 1,
      warnings: 1
    })
  })

  test('refuseFatal throws one line for each fatal finding, and ignores others', () => {
    expect(() => refuseFatal(findings)).toThrow(/^door: is wide open; close it$/)
    expect(() => refuseFatal(findings.slice(0, 2))).not.toThrow()
  })
})
