import { expect, test } from '@jest/globals'
import { hash } from '@node-rs/argon2'
import { hashPassword, isOutdated } from '../../../src/platform/passwords/password.js'
import {
  createPasswordQueue,
  type HashingTurn,
  PasswordQueueFull
} from '../../../src/platform/passwords/password-queue.js'

const CHEAP = { milliseconds: 1, bytes: 1 }
const BOUNDS = { atOnce: 1, bytes: 1_000, waiting: 10, milliseconds: 10_000 }
/** A clock that the test moves. */
function movedClock() {
  let time = 0
  return {
    now: () => time,
    move: (milliseconds: number) => {
      time += milliseconds
    }
  }
}

/** Work that the test finishes. */
function heldWork(cost = CHEAP) {
  const started: (() => void)[] = []
  const work = () => new Promise<void>((resolve) => started.push(resolve))
  return { held: { cost, work }, started }
}

const doing = <Result>(work: () => Result, cost = CHEAP) => ({ cost, work: async () => work() })

function turn(change: Partial<HashingTurn> = {}): HashingTurn {
  const origin = { network: 'n', group: 'g', account: 'a', isKnown: false }
  return { ...origin, deadline: performance.now() + 60_000, client: new AbortController().signal, ...change }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

test('the queue runs at most the allowed number concurrently, and starts the next when one is done', async () => {
  const { held, started } = heldWork()
  const queue = createPasswordQueue({ ...BOUNDS, atOnce: 2 })
  const runs = [queue.run(held), queue.run(held), queue.run(held)]
  await settle()
  expect(started).toHaveLength(2)
  started[0]?.()
  await settle()
  expect(started).toHaveLength(3)
  for (const end of started) end()
  await Promise.all(runs)
})

test('the queue refuses an attempt beyond its length immediately, and accepts later ones', async () => {
  const { held, started } = heldWork()
  const queue = createPasswordQueue({ ...BOUNDS, waiting: 1 })
  const running = queue.run(held)
  await settle()
  const waiting = queue.run(held)
  await expect(queue.run(held)).rejects.toThrow(PasswordQueueFull)
  started[0]?.()
  await running
  await settle()
  started[1]?.()
  await waiting
  await expect(queue.run(doing(() => 'done'))).resolves.toBe('done')
})

test('concurrent hashes take no more than the memory; the next waits for it, also if a place is free', async () => {
  const large = heldWork({ milliseconds: 1, bytes: 600 })
  const small = heldWork({ milliseconds: 1, bytes: 300 })
  const queue = createPasswordQueue({ ...BOUNDS, atOnce: 3 })
  const runs = [queue.run(large.held), queue.run(large.held), queue.run(small.held)]
  await settle()
  expect([large.started.length, small.started.length]).toEqual([1, 0])
  large.started[0]?.()
  await settle()
  expect([large.started.length, small.started.length]).toEqual([2, 1])
  for (const end of [...large.started, ...small.started]) end()
  await Promise.all(runs)
})

test('the queue refuses a hash that needs more than all of the memory, and later ones run', async () => {
  const queue = createPasswordQueue(BOUNDS)
  let runs = 0
  const tooLarge = doing(() => runs++, { milliseconds: 1, bytes: 1_001 })
  await expect(queue.run(tooLarge)).rejects.toThrow(PasswordQueueFull)
  await expect(queue.run(doing(() => 'done'))).resolves.toBe('done')
  expect([runs, queue.state()]).toEqual([0, { running: 0, waiting: 0, refused: 1 }])
})

test('the queue refuses at the deadline a hash that waits, and one that runs', async () => {
  const { held } = heldWork()
  const queue = createPasswordQueue(BOUNDS)
  const soon = () => turn({ deadline: performance.now() + 20 })
  const running = queue.run(held, soon())
  const waiting = queue.run(held, soon())
  expect(queue.state()).toMatchObject({ running: 1, waiting: 1 })
  await expect(running).rejects.toThrow(PasswordQueueFull)
  await expect(waiting).rejects.toThrow(PasswordQueueFull)
  expect(queue.state()).toEqual({ running: 1, waiting: 0, refused: 2 })
})

test('the queue does not start a hash whose cost, on this machine, exceeds the time to its deadline', async () => {
  const clock = movedClock()
  const { held, started } = heldWork()
  const queue = createPasswordQueue(BOUNDS, clock.now)
  // The machine takes three times as long as expected.
  const slow = doing(() => clock.move(300), { milliseconds: 100, bytes: 0 })
  for (let time = 0; time < 100; time++) await queue.run(slow, turn({ deadline: clock.now() + 60_000 }))
  const running = queue.run(held, turn({ deadline: clock.now() + 60_000 }))
  const until = (milliseconds: number) => turn({ deadline: clock.now() + milliseconds })
  const ran: string[] = []
  const cost = { milliseconds: 100, bytes: 0 }
  const late = queue.run(
    doing(() => ran.push('late'), cost),
    until(60_000)
  )
  const early = queue.run(
    doing(() => ran.push('early'), cost),
    until(90_000)
  )
  clock.move(59_800)
  started[0]?.()
  await running
  await expect(late).rejects.toThrow(PasswordQueueFull)
  await early
  expect(ran).toEqual(['early'])
})

test('one interruption of the process does not make later hashes look too slow', async () => {
  const clock = movedClock()
  const queue = createPasswordQueue(BOUNDS, clock.now)
  const cost = { milliseconds: 2_000, bytes: 0 }
  const until = () => turn({ deadline: clock.now() + 18_000 })
  for (let time = 0; time < 100; time++) {
    const interrupted = queue.run(
      doing(() => clock.move(10_000_000), cost),
      until()
    )
    await interrupted
  }
  const work = doing(() => 'done', cost)
  await expect(queue.run(work, until())).resolves.toBe('done')
})

test('the job of a client that has gone is never started, and its place is free', async () => {
  const { held, started } = heldWork()
  const queue = createPasswordQueue({ ...BOUNDS, waiting: 1 })
  const running = queue.run(held, turn())
  const leaving = new AbortController()
  let runs = 0
  const left = queue.run(
    doing(() => runs++),
    turn({ client: leaving.signal })
  )
  leaving.abort()
  await expect(left).rejects.toThrow(PasswordQueueFull)
  const next = queue.run(
    doing(() => 'done'),
    turn()
  )
  started[0]?.()
  await expect(next).resolves.toBe('done')
  await running
  const gone = queue.run(
    doing(() => runs++),
    turn({ client: leaving.signal })
  )
  await expect(gone).rejects.toThrow(PasswordQueueFull)
  expect([runs, queue.state().running]).toEqual([0, 0])
})

test('the job of a client that has gone while it waits for memory releases the others', async () => {
  const { held, started } = heldWork({ milliseconds: 1, bytes: 600 })
  const queue = createPasswordQueue({ ...BOUNDS, atOnce: 2 })
  const running = queue.run(held, turn())
  const leaving = new AbortController()
  const left = queue.run(held, turn({ client: leaving.signal }))
  const small = queue.run(
    doing(() => 'done', { milliseconds: 1, bytes: 100 }),
    turn()
  )
  leaving.abort()
  await expect(left).rejects.toThrow(PasswordQueueFull)
  await expect(small).resolves.toBe('done')
  expect(started).toHaveLength(1)
  started[0]?.()
  await running
})

test('a job that has started goes on without its client: its result counts', async () => {
  const { held, started } = heldWork()
  const queue = createPasswordQueue(BOUNDS)
  const leaving = new AbortController()
  const running = queue.run(held, turn({ client: leaving.signal }))
  leaving.abort()
  started[0]?.()
  await expect(running).resolves.toBeUndefined()
})

test('a queue full of others accepts known browsers, which come first', async () => {
  const { held, started } = heldWork()
  const queue = createPasswordQueue({ ...BOUNDS, waiting: 2 })
  const done: string[] = []
  const run = (group: string, isKnown: boolean) =>
    queue.run(
      doing(() => void done.push(group)),
      turn({ group, isKnown })
    )
  const running = queue.run(held)
  const strangers = [run('one', false), run('two', false)]
  await expect(run('three', false)).rejects.toThrow(PasswordQueueFull)
  const known = run('known', true)
  started[0]?.()
  await Promise.all([running, ...strangers, known])
  expect(done).toEqual(['known', 'one', 'two'])
})

test('a queue that one network has filled accepts the first password of another network', async () => {
  const { held, started } = heldWork()
  const queue = createPasswordQueue({ ...BOUNDS, waiting: 2 })
  const run = (network: string, group: string) =>
    queue.run(
      doing(() => group),
      turn({ network, group })
    )
  const running = queue.run(held)
  const flood = [run('flood', 'one'), run('flood', 'two')]
  await expect(run('flood', 'three')).rejects.toThrow(PasswordQueueFull)
  const person = run('home', 'person')
  started[0]?.()
  expect(await Promise.all([...flood, person])).toEqual(['one', 'two', 'person'])
  await running
})

test('a task that fails releases its place', async () => {
  const queue = createPasswordQueue({ ...BOUNDS, waiting: 1 })
  const failing = { cost: CHEAP, work: async () => Promise.reject(new Error('no')) }
  await expect(queue.run(failing)).rejects.toThrow('no')
  await expect(queue.run(doing(() => 'done'))).resolves.toBe('done')
})

test('a hash with other parameters is outdated', async () => {
  expect(isOutdated(await hashPassword('secret'))).toBe(false)
  expect(isOutdated(await hash('secret', { memoryCost: 8_192, timeCost: 2, parallelism: 1 }))).toBe(true)
  expect(isOutdated(await hash('secret', { memoryCost: 19_456, timeCost: 1, parallelism: 1 }))).toBe(true)
})
