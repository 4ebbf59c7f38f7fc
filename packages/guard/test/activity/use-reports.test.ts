import { describe, expect, test } from '@jest/globals'
import type { CountedUse } from '../../src/activity/use-counter.js'
import { toReports, unknownActions } from '../../src/activity/use-reports.js'

const use = (grantId: string, change: Partial<CountedUse> = {}): CountedUse => ({
  grantId,
  action: 'list_files',
  count: 3,
  lastAt: 1_795_788_000_999,
  ...change
})

describe('reports of uses', () => {
  test('have at most 500 uses, and an id each', () => {
    const reports = toReports(Array.from({ length: 1_001 }, (_, index) => use(`g${index}`)))
    expect(reports.map(({ uses }) => uses.length)).toEqual([500, 500, 1])
    const ids = reports.map(({ body }) => JSON.parse(body).report_id)
    expect(new Set(ids).size).toBe(3)
    expect(ids[0]).toMatch(/^[\w-]{22}$/)
  })

  test('have whole seconds, and no more items than the endpoint accepts', () => {
    const [report] = toReports([use('one'), use('two', { count: 5_000_000_000 })])
    expect(JSON.parse(report?.body ?? '').uses).toEqual([
      { grant_id: 'one', action: 'list_files', count: 3, last_at: 1_795_788_000 },
      { grant_id: 'two', action: 'list_files', count: 1_000_000_000, last_at: 1_795_788_000 }
    ])
  })

  test('without uses are none', () => {
    expect(toReports([])).toEqual([])
  })

  test.each([
    {
      name: 'rows of the report',
      body: '{"ignored":[{"row":1,"reason":"unknown_action"},{"row":0,"reason":"unknown_grant"},{"row":2,"reason":"unknown_action"}]}',
      actions: ['read_file']
    },
    {
      name: 'rows that the report does not have',
      body: '{"ignored":[{"row":9,"reason":"unknown_action"}]}',
      actions: []
    },
    { name: 'no list', body: '{"ignored":7}', actions: [] },
    { name: 'a list of something else', body: '{"ignored":[null,7,"x"]}', actions: [] },
    { name: 'null', body: 'null', actions: [] },
    { name: 'a page', body: '<html>', actions: [] }
  ])('unknown actions in a response with $name', ({ body, actions }) => {
    const uses = [use('one'), use('two', { action: 'read_file' }), use('three', { action: 'read_file' })]
    expect(unknownActions(body, { body: '', uses })).toEqual(actions)
  })
})
