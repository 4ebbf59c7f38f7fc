import { expect, test } from '@jest/globals'
import { createTurns } from '../../../src/features/developer-apps/in-turn.js'

test('tasks with one key run in the order of arrival, also after a failure; other keys do not wait', async () => {
  const inTurn = createTurns()
  const order: string[] = []
  const held: (() => void)[] = []
  const first = inTurn('a', () => new Promise<void>((resolve) => held.push(resolve)))
  const failing = inTurn('a', async () => {
    order.push('second')
    throw new Error('no')
  })
  const last = inTurn('a', async () => order.push('third'))
  await inTurn('b', async () => order.push('other'))
  held[0]?.()
  await first
  await expect(failing).rejects.toThrow('no')
  await last
  expect(order).toEqual(['other', 'second', 'third'])
})
