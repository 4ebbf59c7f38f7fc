import { expect, test } from '@jest/globals'
import { hash } from '@node-rs/argon2'
import { hashPassword, isOutdated } from '../../src/passwords/password.js'
import { createPasswordQueue, PasswordQueueFull } from '../../src/passwords/password-queue.js'

/** Work that ends when it is told to. */
function heldWork() {
  const started: (() => void)[] = []
  const work = () => new Promise<void>((resolve) => started.push(resolve))
  return { work, started }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

test('no more run at once than allowed, and the next starts when one is done', async () => {
  const { work, started } = heldWork()
  const queue = createPasswordQueue({ atOnce: 2, waiting: 10 })
  const runs = [queue.run(work), queue.run(work), queue.run(work)]
  await settle()
  expect(started).toHaveLength(2)
  started[0]?.()
  await settle()
  expect(started).toHaveLength(3)
  for (const end of started) end()
  await Promise.all(runs)
})

test('one more than may wait is refused at once, and later ones are welcome again', async () => {
  const { work, started } = heldWork()
  const queue = createPasswordQueue({ atOnce: 1, waiting: 1 })
  const running = queue.run(work)
  await settle()
  const waiting = queue.run(work)
  await expect(queue.run(work)).rejects.toThrow(PasswordQueueFull)
  started[0]?.()
  await running
  await settle()
  started[1]?.()
  await waiting
  await expect(queue.run(async () => 'done')).resolves.toBe('done')
})

test('work that fails makes room like any other', async () => {
  const queue = createPasswordQueue({ atOnce: 1, waiting: 1 })
  await expect(queue.run(async () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await expect(queue.run(async () => 'done')).resolves.toBe('done')
})

test('a hash is outdated when it was made with other parameters', async () => {
  expect(isOutdated(await hashPassword('secret'))).toBe(false)
  expect(isOutdated(await hash('secret', { memoryCost: 8_192, timeCost: 2, parallelism: 1 }))).toBe(true)
  expect(isOutdated(await hash('secret', { memoryCost: 19_456, timeCost: 1, parallelism: 1 }))).toBe(true)
})
