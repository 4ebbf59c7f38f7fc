import { expect, test } from '@jest/globals'
import { array, assert, boolean, constantFrom, integer, property, record } from 'fast-check'
import { createHashingOrder, type HashingOrigin } from '../../../src/platform/passwords/hashing-order.js'

type Order = ReturnType<typeof createHashingOrder<string>>

function drain(order: Order): string[] {
  const jobs: string[] = []
  for (let job = order.next(); job !== undefined; job = order.next()) jobs.push(job)
  return jobs
}

const origin = (change: Partial<HashingOrigin>): HashingOrigin => ({
  network: 'n',
  group: 'g',
  account: 'a',
  isKnown: false,
  ...change
})

test('known browsers come first, and each address group has its turn', () => {
  const order = createHashingOrder<string>()
  for (const job of ['flood 1', 'flood 2', 'flood 3']) order.add(origin({ group: 'flood' }), job, 1)
  order.add(origin({ group: 'person' }), 'person', 1)
  order.add(origin({ group: 'home', isKnown: true }), 'known', 1)
  expect(drain(order)).toEqual(['known', 'flood 1', 'person', 'flood 2', 'flood 3'])
  expect(order.waiting()).toBe(0)
})

test('accounts of one address have their turns', () => {
  const order = createHashingOrder<string>()
  for (const job of ['flood 1', 'flood 2', 'flood 3']) order.add(origin({ account: 'flood' }), job, 1)
  order.add(origin({ account: 'person' }), 'person', 1)
  expect(drain(order)).toEqual(['flood 1', 'person', 'flood 2', 'flood 3'])
})

test('slow hashes of many accounts, addresses and networks delay a fast one by no more than its own cost', () => {
  const order = createHashingOrder<string>()
  for (const name of ['1', '2', '3', '4']) {
    order.add(origin({ network: name }), 'slow', 2_000)
    order.add(origin({ group: name }), 'slow', 2_000)
    order.add(origin({ account: name }), 'slow', 2_000)
  }
  order.add(origin({ account: 'person' }), 'fast', 10)
  expect(order.next()).toBe('fast')
})

test('fast hashes of new networks delay a slow one only until they cost as much', () => {
  const order = createHashingOrder<string>()
  order.add(origin({ network: 'slow' }), 'slow', 1_000)
  const taken: (string | undefined)[] = []
  for (let count = 0; count < 100; count++) {
    order.add(origin({ network: `${count}` }), 'fast', 100)
    taken.push(order.next())
  }
  expect(taken.indexOf('slow')).toBeLessThanOrEqual(10)
  expect(taken).toContain('slow')
})

test('repeated sign-ins of one account do not block others: every fourth job is of another account', () => {
  const order = createHashingOrder<string>()
  for (let time = 0; time < 8; time++) order.add(origin({ group: 'known', isKnown: true }), 'known', 1)
  for (const job of ['one', 'two']) order.add(origin({ group: job }), job, 1)
  const known = Array(3).fill('known')
  expect(drain(order)).toEqual([...known, 'one', ...known, 'two', 'known', 'known'])
})

test('a thousand jobs of other addresses do not delay a known browser', () => {
  const order = createHashingOrder<string>()
  for (let group = 0; group < 1_000; group++) order.add(origin({ group: `${group}` }), 'stranger', 1)
  const known = origin({ group: '5', isKnown: true })
  expect(order.waitingLike(known)).toBe(0)
  order.add(known, 'known', 1)
  expect([order.next(), order.waitingLike(known), order.waiting()]).toEqual(['known', 0, 1_000])
})

test('all addresses of one network delay another network by one job', () => {
  const order = createHashingOrder<string>()
  for (let group = 0; group < 500; group++) order.add(origin({ network: 'flood', group: `${group}` }), 'flood', 1)
  const person = origin({ network: 'home' })
  expect(order.isFirstOfNetwork(person)).toBe(true)
  order.add(person, 'person', 1)
  expect(drain(order).slice(0, 2)).toEqual(['flood', 'person'])
})

const anyOrigin = record<HashingOrigin>({
  network: constantFrom('m', 'n'),
  group: constantFrom('a', 'b', 'c'),
  account: constantFrom('x', 'y'),
  isKnown: boolean()
})
const origins = array(record({ origin: anyOrigin, cost: integer({ min: 1, max: 5 }) }), { maxLength: 40 })

test('before a job of a network come at most its cost and one job of each network that has none of it', () => {
  assert(
    property(origins, integer({ min: 1, max: 5 }), (before, cost) => {
      const order = createHashingOrder<string>()
      const others = before.filter((each) => !each.origin.isKnown)
      for (const [index, each] of others.entries()) order.add(each.origin, `${index}`, each.cost)
      order.add(origin({ network: 'new' }), 'new', cost)
      const ahead = drain(order).slice(0, -1)
      const first = ahead.slice(0, ahead.indexOf('new') < 0 ? undefined : ahead.indexOf('new'))
      for (const network of ['m', 'n']) {
        const costs = first.map((job) => others[Number(job)]).filter((each) => each?.origin.network === network)
        expect(costs.reduce((sum, each) => sum + (each?.cost ?? 0), 0)).toBeLessThanOrEqual(cost)
      }
    })
  )
})

test('a removed job never comes, and the others do', () => {
  assert(
    property(origins, (given) => {
      const order = createHashingOrder<string>()
      for (const [index, each] of given.entries()) order.add(each.origin, `${index}`, each.cost)
      for (const [index, each] of given.entries()) if (index % 2 === 0) order.remove(each.origin, `${index}`)
      const kept = given.map((_, index) => `${index}`).filter((_, index) => index % 2 === 1)
      expect(order.waiting()).toBe(kept.length)
      expect(drain(order).toSorted()).toEqual(kept.toSorted())
      expect(order.isFirstOfNetwork(origin({ network: 'm' }))).toBe(true)
    })
  )
})

test('jobs of one account and address run in the order of arrival, and none is lost', () => {
  assert(
    property(origins, (given) => {
      const order = createHashingOrder<HashingOrigin & { place: number }>()
      for (const [place, each] of given.entries()) order.add(each.origin, { ...each.origin, place }, each.cost)
      const places: Record<string, number[]> = {}
      for (let job = order.next(); job !== undefined; job = order.next()) {
        const alike = `${job.network} ${job.group} ${job.account} ${job.isKnown}`
        places[alike] = [...(places[alike] ?? []), job.place]
      }
      for (const each of Object.values(places)) expect(each).toEqual(each.toSorted((one, other) => one - other))
      expect(Object.values(places).flat()).toHaveLength(given.length)
    })
  )
})
