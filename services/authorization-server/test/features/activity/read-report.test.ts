import { describe, expect, test } from '@jest/globals'
import { readReport } from '../../../src/features/activity/read-report.js'

const use = {
  grant_id: '0199c1d0-7d4e-7f50-8000-0123456789ab',
  action: 'list_files',
  count: 214,
  last_at: 1_795_788_000
}
const report = { report_id: 'a_report-id_of_16', uses: [use] }
const withUse = (change: object) => ({ ...report, uses: [use, { ...use, ...change }] })

describe('a report of uses', () => {
  test('has an id and uses with times; other members are ignored', () => {
    const expected = {
      grantId: use.grant_id,
      action: 'list_files',
      count: 214,
      lastAt: new Date('2026-11-27T14:00:00Z')
    }
    expect(readReport({ ...report, later: 1, uses: [{ ...use, later: 1 }] })).toEqual({
      reportId: report.report_id,
      uses: [expected]
    })
    expect(readReport({ ...report, uses: [] }).uses).toEqual([])
    expect(readReport({ ...report, uses: Array(500).fill({ ...use, count: 0 }) }).uses).toHaveLength(500)
  })

  test.each([
    { name: 'no object', body: [], said: 'The body must be an object.' },
    { name: 'null', body: null, said: 'The body must be an object.' },
    { name: 'no id', body: { uses: [] }, said: 'report_id must be 16 to 64 base64url characters.' },
    { name: 'a short id', body: { ...report, report_id: 'short' }, said: 'report_id must be' },
    { name: 'a long id', body: { ...report, report_id: 'a'.repeat(65) }, said: 'report_id must be' },
    {
      name: 'an id with another character',
      body: { ...report, report_id: 'a report id of 20 ch' },
      said: 'report_id must'
    },
    { name: 'no uses', body: { report_id: report.report_id }, said: 'uses must be a list of at most 500 objects.' },
    { name: '501 uses', body: { ...report, uses: Array(501).fill(use) }, said: 'uses must be a list of at most 500' },
    { name: 'a use that is no object', body: { ...report, uses: [7] }, said: 'uses[0] must be an object.' },
    { name: 'a grant that is no UUID', body: withUse({ grant_id: "' or 1=1" }), said: 'uses[1].grant_id must be' },
    { name: 'no grant', body: withUse({ grant_id: undefined }), said: 'uses[1].grant_id must be' },
    { name: 'an action with capitals', body: withUse({ action: 'List' }), said: 'uses[1].action must be' },
    { name: 'an action with NUL', body: withUse({ action: 'a\0' }), said: 'uses[1].action must be' },
    { name: 'a long action', body: withUse({ action: 'a'.repeat(65) }), said: 'uses[1].action must be' },
    {
      name: 'the name of a member of each object',
      body: withUse({ action: '__proto__' }),
      said: 'uses[1].action must be'
    },
    { name: 'a negative count', body: withUse({ count: -1 }), said: 'uses[1].count must be a whole number from 0' },
    { name: 'a fraction', body: withUse({ count: 1.5 }), said: 'uses[1].count must be' },
    { name: 'a huge count', body: withUse({ count: 1_000_000_001 }), said: 'uses[1].count must be' },
    { name: 'an endless count', body: withUse({ count: Number.POSITIVE_INFINITY }), said: 'uses[1].count must be' },
    { name: 'a count as text', body: withUse({ count: '7' }), said: 'uses[1].count must be' },
    { name: 'a time as text', body: withUse({ last_at: '2026-11-27' }), said: 'uses[1].last_at must be' },
    { name: 'a fraction of a second', body: withUse({ last_at: 1.5 }), said: 'uses[1].last_at must be' },
    { name: 'a time before 1970', body: withUse({ last_at: -1 }), said: 'uses[1].last_at must be' },
    {
      name: 'a time that Postgres lacks',
      body: withUse({ last_at: 8_640_000_000_001 }),
      said: 'uses[1].last_at must be'
    }
  ])('with $name is invalid_request', ({ body, said }) => {
    expect(() => readReport(body)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
    expect(() => readReport(body)).toThrow(said)
  })
})
