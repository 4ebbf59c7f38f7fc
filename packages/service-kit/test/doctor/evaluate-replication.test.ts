import { expect, test } from '@jest/globals'
import { evaluateReplication } from '../../src/doctor/evaluate-replication.js'

const synchronous = { standbys: 2, synchronous_standby_names: 'ANY 1 (one, two)', synchronous_commit: 'on' }

test.each([
  { name: 'no standby', change: { standbys: 0, synchronous_standby_names: '' }, found: [] },
  { name: 'synchronous standbys', change: {}, found: ['ok'] },
  { name: 'commits that wait until they are visible', change: { synchronous_commit: 'remote_apply' }, found: ['ok'] },
  { name: 'asynchronous standbys', change: { synchronous_standby_names: '' }, found: ['warning'] },
  { name: 'commits that wait for the own disk only', change: { synchronous_commit: 'local' }, found: ['warning'] },
  { name: 'commits that wait for no disk', change: { synchronous_commit: 'off' }, found: ['warning'] }
])('replication of Postgres, $name: doctor finds $found', ({ change, found }) => {
  expect(evaluateReplication({ ...synchronous, ...change }).map(({ severity }) => severity)).toEqual(found)
})
