import { expect, test } from '@jest/globals'
import { array, assert, boolean, constantFrom, property, record } from 'fast-check'
import { createHashingOrder, type HashingTurn } from '../../../src/platform/passwords/hashing-order.js'

function drain(order: ReturnType<typeof createHashingOrder<string>>): string[] {
  const jobs: string[] = []
  for (let job = order.next(); job !== undefined; job = order.next()) jobs.push(job)
  return jobs
}

test('known browsers come first, and each address group has its turn', () => {
  const order = createHashingOrder<string>()
  for (const job of ['flood 1', 'flood 2', 'flood 3']) order.add({ network: 'n', group: 'flood', isKnown: false }, job)
  order.add({ network: 'n', group: 'person', isKnown: false }, 'person')
  order.add({ network: 'n', group: 'home', isKnown: true }, 'known')
  expect(drain(order)).toEqual(['known', 'flood 1', 'person', 'flood 2', 'flood 3'])
  expect(order.waiting()).toBe(0)
})

test('repeated sign-ins of one account do not block others: every fourth job is of another account', () => {
  const order = createHashingOrder<string>()
  for (let time = 0; time < 8; time++) order.add({ network: 'n', group: 'known', isKnown: true }, 'known')
  for (const job of ['one', 'two']) order.add({ network: 'n', group: job, isKnown: false }, job)
  const known = Array(3).fill('known')
  expect(drain(order)).toEqual([...known, 'one', ...known, 'two', 'known', 'known'])
})

test('a thousand jobs of other addresses do not delay a known browser', () => {
  const order = createHashingOrder<string>()
  for (let group = 0; group < 1_000; group++) order.add({ network: 'n', group: `${group}`, isKnown: false }, 'stranger')
  const known = { network: 'n', group: '5', isKnown: true }
  expect([order.ahead(known), order.waitingLike(known), order.ahead({ ...known, isKnown: false })]).toEqual([
    0, 0, 1_000
  ])
})

test('all addresses of one network delay another network by one job', () => {
  const order = createHashingOrder<string>()
  for (let group = 0; group < 500; group++) order.add({ network: 'flood', group: `${group}`, isKnown: false }, 'flood')
  const person = { network: 'home', group: 'person', isKnown: false }
  expect([order.ahead(person), order.isFirstOfNetwork(person)]).toEqual([1, true])
  order.add(person, 'person')
  expect(drain(order).slice(0, 2)).toEqual(['flood', 'person'])
})

const anyTurn = record<HashingTurn>({
  network: constantFrom('m', 'n'),
  group: constantFrom('a', 'b', 'c'),
  isKnown: boolean()
})
const turns = array(anyTurn, { maxLength: 40 })

test('ahead: no more of the waiting jobs come before a job than returned when it was added', () => {
  assert(
    property(turns, anyTurn, (before, turn) => {
      const order = createHashingOrder<string>()
      for (const [index, each] of before.entries()) order.add(each, `${index}`)
      const told = order.ahead(turn)
      order.add(turn, 'asked')
      const jobs = drain(order)
      expect(jobs).toHaveLength(before.length + 1)
      expect(jobs.indexOf('asked')).toBeLessThanOrEqual(told)
    })
  )
})

test('jobs of one group run in the order of arrival, and none is lost', () => {
  assert(
    property(turns, (given) => {
      const order = createHashingOrder<HashingTurn & { place: number }>()
      for (const [place, each] of given.entries()) order.add(each, { ...each, place })
      const places: Record<string, number[]> = {}
      for (let job = order.next(); job !== undefined; job = order.next()) {
        const alike = `${job.network} ${job.group} ${job.isKnown}`
        places[alike] = [...(places[alike] ?? []), job.place]
      }
      for (const each of Object.values(places)) expect(each).toEqual(each.toSorted((one, other) => one - other))
      expect(Object.values(places).flat()).toHaveLength(given.length)
    })
  )
})
