import { expect, test } from '@jest/globals'
import { hash } from '@node-rs/argon2'
import { hashPassword, isOutdated } from '../../../src/platform/passwords/password.js'
import { createPasswordQueue, PasswordQueueFull } from '../../../src/platform/passwords/password-queue.js'

/** Work that the test finishes. */
function heldWork() {
  const started: (() => void)[] = []
  const work = () => new Promise<void>((resolve) => started.push(resolve))
  return { work, started }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

test('runs at most the allowed number concurrently, and starts the next when one is done', async () => {
  const { work, started } = heldWork()
  const queue = createPasswordQueue({ atOnce: 2, waiting: 10, milliseconds: 10_000 })
  const runs = [queue.run(work), queue.run(work), queue.run(work)]
  await settle()
  expect(started).toHaveLength(2)
  started[0]?.()
  await settle()
  expect(started).toHaveLength(3)
  for (const end of started) end()
  await Promise.all(runs)
})

test('refuses an attempt beyond the queue immediately, and accepts later ones', async () => {
  const { work, started } = heldWork()
  const queue = createPasswordQueue({ atOnce: 1, waiting: 1, milliseconds: 10_000 })
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

test('refuses a hash whose expected wait, from measured times, is too long', async () => {
  const { work, started } = heldWork()
  let clock = 0
  const queue = createPasswordQueue({ atOnce: 1, waiting: 100, milliseconds: 1_000 }, () => clock)
  for (let time = 0; time < 100; time++) {
    await queue.run(async () => {
      clock += 400
    })
  }
  // About 400 ms each: one running and one waiting take less than a second, a third would exceed it.
  const runs = [queue.run(work), queue.run(work), queue.run(work)]
  await expect(queue.run(work)).rejects.toThrow(PasswordQueueFull)
  for (let index = 0; index < 3; index++) {
    started[index]?.()
    await settle()
  }
  await Promise.all(runs)
})

test('a queue full of others accepts known browsers, which come first', async () => {
  const { work, started } = heldWork()
  const queue = createPasswordQueue({ atOnce: 1, waiting: 2, milliseconds: 60_000 })
  const done: string[] = []
  const run = (name: string, isKnown: boolean) =>
    queue.run(async () => void done.push(name), { network: 'n', group: name, isKnown })
  const running = queue.run(work)
  const strangers = [run('one', false), run('two', false)]
  await expect(run('three', false)).rejects.toThrow(PasswordQueueFull)
  const known = run('known', true)
  started[0]?.()
  await Promise.all([running, ...strangers, known])
  expect(done).toEqual(['known', 'one', 'two'])
})

test('a queue that one network has filled accepts the first password of another network', async () => {
  const { work, started } = heldWork()
  const queue = createPasswordQueue({ atOnce: 1, waiting: 2, milliseconds: 60_000 })
  const run = (network: string, group: string) => queue.run(async () => group, { network, group, isKnown: false })
  const running = queue.run(work)
  const flood = [run('flood', 'one'), run('flood', 'two')]
  await expect(run('flood', 'three')).rejects.toThrow(PasswordQueueFull)
  const person = run('home', 'person')
  started[0]?.()
  expect(await Promise.all([...flood, person])).toEqual(['one', 'two', 'person'])
  await running
})

test('work that fails releases its place', async () => {
  const queue = createPasswordQueue({ atOnce: 1, waiting: 1, milliseconds: 10_000 })
  await expect(queue.run(async () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await expect(queue.run(async () => 'done')).resolves.toBe('done')
})

test('a hash with other parameters is outdated', async () => {
  expect(isOutdated(await hashPassword('secret'))).toBe(false)
  expect(isOutdated(await hash('secret', { memoryCost: 8_192, timeCost: 2, parallelism: 1 }))).toBe(true)
  expect(isOutdated(await hash('secret', { memoryCost: 19_456, timeCost: 1, parallelism: 1 }))).toBe(true)
})
