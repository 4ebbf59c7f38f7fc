// Counters of one operation that depend neither on the speed of the machine nor on other programs. README.md describes them.
import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { heapOf } from './heap.mjs'
import { sendAll } from './send-all.mjs'
import { median } from './statistics.mjs'

const WARM_UP = 1_500
const ONE_BY_ONE = 200
const AT_ONCE = 32
const BURSTS = 16
const SLICES = 16
const KIB = 1_024
const QUIET_TURNS = 5
// Well below the time limits of the services. On a slower machine the first bursts need some more statements.
const HELD_AT_MOST_MS = 1_000

/**
 * @param operation `prepare(count)` creates the input of that number of requests; `send(one)` sends a request
 * @param instance see startCounted
 * @returns `counters`, each for one request, and `sent`: the names of the statements and commands of ONE_BY_ONE requests
 */
export async function countOperation(operation, instance) {
  await sendAtOnce(operation, WARM_UP)
  const inputs = await operation.prepare(ONE_BY_ONE)
  const before = instance.names()
  const requests = await countOneByOne(operation, inputs, instance)
  const sent = namesSince(before, instance.names())
  // Periodic work of the services coincides with fewer than half of the requests.
  const own = sent.filter(({ count }) => count >= ONE_BY_ONE / 2)
  const byTheClock = sent.filter((name) => !own.includes(name))
  const perRequest = (store) => sum(own.filter((name) => name.store === store).map(({ count }) => count)) / ONE_BY_ONE
  const typical = (name) => median(requests.map((request) => request[name]))
  const atOnce = await countAtOnce(operation, instance, byTheClock)
  return {
    sent,
    counters: {
      'SQL statements': perRequest('sql'),
      'SQL statements of 32 at once': atOnce.statements,
      'Redis commands': perRequest('redis'),
      'Redis commands, with those of scripts': typical('redisOwn'),
      'system calls': typical('systemCalls'),
      'system calls of 32 at once': atOnce.systemCalls / AT_ONCE,
      'KB allocated': await allocated(operation, instance),
      'WAL bytes': typical('wal')
    }
  }
}

async function sendAtOnce({ prepare, send }, count) {
  const inputs = await prepare(count)
  await sendAll((number) => send(inputs[number]), { count, senders: AT_ONCE })
}

async function countOneByOne({ send }, inputs, instance) {
  const requests = []
  let last = await read(instance)
  for (const input of inputs) {
    await send(input)
    const now = await read(instance)
    requests.push(Object.fromEntries(Object.keys(now).map((name) => [name, now[name] - last[name]])))
    last = now
  }
  return requests
}

/**
 * The responses of Postgres are delayed until the service has read all requests and sent all possible statements, so that
 * the numbers do not depend on timing. The system calls of the requests that show this are subtracted.
 */
async function countAtOnce({ prepare, send }, instance, byTheClock) {
  const isOwn = ({ store, name }) => store === 'sql' && !byTheClock.some((other) => other.name === name)
  const callsOfTurn = await systemCallsOfTurn(instance)
  const bursts = []
  for (let burst = 0; burst < BURSTS; burst++) {
    const inputs = await prepare(AT_ONCE)
    const before = instance.names()
    const callsBefore = systemCallsOf(instance)
    instance.sql.hold()
    const all = sendAll((number) => send(inputs[number]), { count: AT_ONCE, senders: AT_ONCE })
    const quiet = untilQuiet(instance)
    await Promise.race([quiet, all, wait(HELD_AT_MOST_MS)])
    instance.sql.release()
    await all
    const turns = await quiet
    const sent = namesSince(before, instance.names()).filter(isOwn)
    bursts.push({
      statements: sum(sent.map(({ count }) => count)),
      systemCalls: systemCallsOf(instance) - callsBefore - turns * callsOfTurn
    })
  }
  const least = (name) => Math.min(...bursts.map((burst) => burst[name]))
  return { statements: least('statements'), systemCalls: least('systemCalls') }
}

async function systemCallsOfTurn(instance) {
  const turns = []
  for (let turn = 0; turn < 20; turn++) {
    const before = systemCallsOf(instance)
    await instance.turn()
    turns.push(systemCallsOf(instance) - before)
  }
  return median(turns)
}

async function allocated({ prepare, send }, { children }) {
  const slices = []
  for (let slice = 0; slice < SLICES; slice++) {
    const inputs = await prepare(AT_ONCE)
    const before = await heapOf(children, 'collect')
    await sendAll((number) => send(inputs[number]), { count: AT_ONCE, senders: AT_ONCE })
    const after = await heapOf(children)
    // After a garbage collection the difference is useless. It may be reported late, so a smaller heap also shows one.
    const isWhole = after.collections === before.collections && after.bytes > before.bytes
    if (isWhole) slices.push((after.bytes - before.bytes) / AT_ONCE / KIB)
  }
  if (slices.length < SLICES / 2) throw new Error('V8 collects garbage by itself: the young generation is too small')
  // Periodic work of the services, such as an audit batch, only increases some slices.
  return Math.min(...slices)
}

async function read(instance) {
  const { redisOwn, walPosition } = instance
  return {
    wal: await walPosition(),
    redisOwn: await redisOwn(),
    systemCalls: systemCallsOf(instance)
  }
}

const systemCallsOf = ({ pids }) => sum(pids.map(systemCallsOfProcess))

/** Read and write system calls of all threads: `syscr` and `syscw` of proc_pid_io(5). */
function systemCallsOfProcess(pid) {
  const account = readFileSync(`/proc/${pid}/io`, 'utf8')
  return sum(['syscr', 'syscw'].map((name) => Number(new RegExp(`${name}: (\\d+)`).exec(account)?.[1])))
}

/** Resolves with the number of turns when the services have sent nothing to the stores for some turns of the event loop. */
async function untilQuiet({ sql, redis, turn }) {
  const total = () => sql.total() + redis.total()
  let last = total()
  let turns = 0
  for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
    await turn()
    turns++
    await wait(5)
    if (total() !== last) quiet = 0
    last = total()
  }
  return turns
}

function namesSince(before, after) {
  const counts = after.map((one) => ({
    ...one,
    count: one.count - (before.find(({ key }) => key === one.key)?.count ?? 0)
  }))
  return counts.filter(({ count }) => count > 0)
}

const sum = (values) => values.reduce((total, value) => total + value, 0)
