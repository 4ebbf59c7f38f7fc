import { expect, test } from '@jest/globals'
import { fatal, ok, type Readiness, warning } from '@valetkey/service-kit'
import {
  describeOverview,
  describeUptime,
  type Examination
} from '../../../src/operator/start-page/describe-overview.js'

const versions = { valetkey: '0.1.0', node: '24.0.0', postgres: '18.1', redis: '8.0.0' }
const complaint = { what: 'clients client_1 and client_2', why: 'why', fix: 'fix' }

const examined = (findings: Examination['findings'], queue: Examination['queue'] = 'off') => ({
  value: { findings, versions, queue },
  readAt: new Date('2026-11-23T01:02:03.456Z')
})

test.each<{ status: Readiness['status']; statusState: string }>([
  { status: 'ok', statusState: 'good' },
  { status: 'degraded', statusState: 'warn' },
  { status: 'draining', statusState: 'warn' },
  { status: 'unavailable', statusState: 'bad' }
])('readiness $status is shown as $statusState', ({ status, statusState }) => {
  expect(describeOverview({ status, checks: {} }, undefined)).toMatchObject({ statusState })
})

test('a part that is unavailable is shown with its reason, or without one', () => {
  const checks = { postgres: 'ok', redis: 'unavailable', announcements: 'unavailable' } as const
  const { checks: shown } = describeOverview(
    { status: 'degraded', checks, reasons: { redis: 'cannot be reached' } },
    undefined
  )
  expect(shown).toEqual([
    { name: 'postgres', state: 'good', text: 'ok' },
    { name: 'redis', state: 'bad', text: 'cannot be reached' },
    { name: 'announcements', state: 'bad', text: 'unavailable' }
  ])
})

test('fatal findings come before warnings, and passed checks are separate', () => {
  const { groups, problemCount, passed } = describeOverview(
    undefined,
    examined({
      service: [warning('A', complaint), ok('B', 'is fine'), fatal('C', complaint)],
      records: [warning('D', complaint)]
    })
  )
  const shown = groups.map(({ title, problems }) => [title, problems.map(({ check, isFatal }) => [check, isFatal])])
  expect(shown).toEqual([
    [
      'Service and settings',
      [
        ['C', true],
        ['A', false]
      ]
    ],
    ['Clients, users and other records', [['D', false]]]
  ])
  expect(problemCount).toBe('1 fatal, 2 warnings')
  expect(passed).toMatchObject([{ check: 'B', what: 'is fine' }])
})

test('findings about records are shown without names of clients, users and addresses', () => {
  const overview = describeOverview(
    undefined,
    examined({ service: [], records: [warning('PKCE', complaint), ok('users without a way in', 'none of 12')] })
  )
  expect(JSON.stringify(overview)).not.toMatch(/client_1|none of 12/)
  expect(overview.groups).toMatchObject([{ problems: [{ check: 'PKCE', why: 'why', fix: 'fix' }] }])
  expect(overview.problemCount).toBe('1 warning')
})

test('versions include the state of the migrations, and the time of the examination', () => {
  const overview = describeOverview(undefined, examined({ service: [ok('migrations', 'all applied')], records: [] }))
  expect(overview).toMatchObject({ examined: '2026-11-23 01:02:03' })
  expect(overview.versions).toEqual([
    { name: 'Valetkey', text: '0.1.0' },
    { name: 'Node', text: '24.0.0' },
    { name: 'Postgres', text: '18.1' },
    { name: 'Redis', text: '8.0.0' },
    { name: 'Migrations', text: 'all applied' }
  ])
})

test.each([
  { queue: 'off' as const, text: '' },
  { queue: 'unknown' as const, text: 'Postgres does not respond.' },
  { queue: 1, text: '1 app or change waits for approval.' },
  { queue: 12, text: '12 apps or changes wait for approval.' }
])('an approval queue of $queue is shown as "$text"', ({ queue, text }) => {
  expect(describeOverview(undefined, examined({ service: [], records: [] }, queue)).queue).toBe(text)
})

test('without findings there is no count and no group', () => {
  const overview = describeOverview(undefined, examined({ service: [ok('B', 'is fine')], records: [] }))
  expect([overview.problemCount, overview.groups]).toEqual(['', []])
})

test.each([
  { seconds: 0.9, text: '0 seconds' },
  { seconds: 1, text: '1 second' },
  { seconds: 119, text: '1 minute' },
  { seconds: 7_200, text: '2 hours' },
  { seconds: 90_000, text: '1 day' }
])('an uptime of $seconds s is shown as $text', ({ seconds, text }) => {
  expect(describeUptime(seconds)).toBe(text)
})
