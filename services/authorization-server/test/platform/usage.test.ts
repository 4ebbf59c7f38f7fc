import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { createUsage } from '../../src/platform/usage.js'

function setUp() {
  const batches: ReadonlyMap<string, Date>[] = []
  let at = new Date('2026-11-21T12:00:00Z')
  let fails = false
  const store = {
    async noteUse(uses: ReadonlyMap<string, Date>) {
      if (fails) throw new Error('away')
      batches.push(uses)
    }
  }
  const usage = createUsage(store, () => at)
  return {
    usage,
    batches,
    pass: (minutes: number) => {
      at = new Date(at.getTime() + minutes * 60_000)
    },
    fail: (value: boolean) => {
      fails = value
    }
  }
}

test('a thousand uses of one grant are one entry of the next batch', async () => {
  const { usage, batches } = setUp()
  const grant = randomUUID()
  for (let use = 0; use < 1000; use++) usage.note(grant)
  usage.note(randomUUID())
  expect(batches).toEqual([])
  await usage.close()
  expect(batches.map((batch) => batch.size)).toEqual([2])
})

test('a written use is not written again for five minutes', async () => {
  const { usage, batches, pass } = setUp()
  const grant = randomUUID()
  usage.note(grant)
  await usage.close()
  pass(4)
  usage.note(grant)
  await usage.close()
  expect(batches).toHaveLength(1)
  pass(2)
  usage.note(grant)
  await usage.close()
  expect(batches).toHaveLength(2)
})

test('an outage of the store loses one batch without an error', async () => {
  const { usage, batches, fail } = setUp()
  const grant = randomUUID()
  fail(true)
  usage.note(grant)
  await usage.close()
  fail(false)
  usage.note(grant)
  await usage.close()
  expect(batches).toHaveLength(1)
})

test('the number of grants in memory is limited, and the next period is written again', async () => {
  const { usage, batches, pass } = setUp()
  for (let use = 0; use < 60_000; use++) usage.note(`grant-${use}`)
  await usage.close()
  // No statement has too many rows.
  expect(batches.map((batch) => batch.size)).toEqual(Array(50).fill(1_000))
  pass(5)
  usage.note('grant-59999')
  await usage.close()
  expect(batches.at(-1)?.size).toBe(1)
})
