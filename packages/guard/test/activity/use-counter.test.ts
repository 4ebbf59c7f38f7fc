import { describe, expect, test } from '@jest/globals'
import { createUseCounter } from '../../src/activity/use-counter.js'

describe('the counter of uses', () => {
  test('sums by grant and action, with the latest time', () => {
    const counter = createUseCounter()
    counter.add('one', 'list_files', 100, 2_000)
    counter.add('one', 'list_files', 14, 1_000)
    counter.add('one', 'read_file', 1, 5_000)
    counter.add('two', 'list_files', 0, 3_000)
    expect(counter.take()).toEqual({
      uses: [
        { grantId: 'one', action: 'list_files', count: 114, lastAt: 2_000 },
        { grantId: 'two', action: 'list_files', count: 0, lastAt: 3_000 },
        { grantId: 'one', action: 'read_file', count: 1, lastAt: 5_000 }
      ],
      lost: 0
    })
  })

  test('is empty after its sums were taken', () => {
    const counter = createUseCounter()
    expect(counter.isEmpty()).toBe(true)
    counter.add('one', 'list_files', 0, 1_000)
    expect(counter.isEmpty()).toBe(false)
    counter.take()
    expect([counter.isEmpty(), counter.take()]).toEqual([true, { uses: [], lost: 0 }])
  })

  test('over its limit loses new pairs only, and says how many uses were lost', () => {
    const counter = createUseCounter(2)
    counter.add('one', 'list_files', 1, 1)
    counter.add('two', 'list_files', 1, 1)
    counter.add('three', 'list_files', 1, 1)
    counter.add('one', 'other', 1, 1)
    counter.add('one', 'list_files', 1, 2)
    const { uses, lost } = counter.take()
    expect([uses.map(({ grantId, count }) => [grantId, count]), lost]).toEqual([
      [
        ['one', 2],
        ['two', 1]
      ],
      2
    ])
    counter.add('three', 'list_files', 1, 1)
    expect(counter.take().uses).toHaveLength(1)
  })
})
