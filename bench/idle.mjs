// npm run bench:idle: the cost of the first requests after a pause at the authorization server: with all SERVICE_OPTIONS,
// without each of them, and with none. README.md lists the settings. Linux only.
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { moveToOtherCore } from './lib/cores.mjs'
import { table } from './lib/figures.mjs'
import { SENDERS } from './lib/measure.mjs'
import { findNode, OF_IMAGES } from './lib/nodes.mjs'
import { operationsOf } from './lib/operations.mjs'
import { processSeconds } from './lib/process-seconds.mjs'
import { inRounds } from './lib/rounds.mjs'
import { sendAll } from './lib/send-all.mjs'
import { median, quantile } from './lib/statistics.mjs'
import { createStores } from './lib/stores.mjs'
import { startValetkey } from './lib/valetkey.mjs'
import { inWorkplace } from './lib/workplace.mjs'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 12)
// Together less than the lifetime of a code, which is at most 29 seconds.
const PAUSE_MS = 12_000
const REQUESTS = 150
const WARM_UP = 1_500

/** V8's defaults: the last option with a name is effective. */
const OWN = ['--memory-reducer', '--flush-bytecode', '--heap-growing-percent=0']
const VARIANTS = [
  { name: 'no option', nodeOptions: OWN },
  ...OWN.map((option) => ({ name: `all, but ${option}`, nodeOptions: [option] })),
  { name: 'all options', nodeOptions: [] }
]

await inWorkplace(async ({ directory, processes }) => {
  moveToOtherCore()
  const databases = VARIANTS.flatMap((_, number) => [`authorization_${number}`, `files_${number}`])
  const stores = await createStores(databases, { directory, processes, environment: process.env, isDurable: false })
  const contenders = []
  for (const [number, { name, nodeOptions }] of VARIANTS.entries()) {
    const target = await startValetkey({
      databaseUrls: stores.databaseUrls.slice(number * 2, number * 2 + 2),
      redisUrl: stores.redisUrl,
      directory: path.join(directory, String(number)),
      ...{ processes, nodeOptions, node: findNode(OF_IMAGES), environment: { CODE_TTL: '29' } }
    })
    const contender = { name, pid: target.pids[0], ...operationsOf(target) }
    await exchangeAll(contender, await collect(WARM_UP, contender.authorize))
    contenders.push(contender)
  }
  const rounds = new Map(contenders.map(({ name }) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const contender of contenders) contender.codes = await collect(REQUESTS, contender.authorize)
    await wait(PAUSE_MS)
    const figures = await inRounds(round % 2 === 0 ? contenders : contenders.toReversed(), 1, measure)
    for (const [name, [figure]] of figures) rounds.get(name).push(figure)
  }
  for (const step of ['exchange', 'introspection']) report(step, rounds)
  return 0
})

/** The exchanges directly follow the pause, and the introspections directly follow the exchanges. */
async function measure(contender) {
  const begun = processSeconds([contender.pid])
  const tokens = await collect(REQUESTS, (number) => contender.exchange(contender.codes[number]))
  const between = processSeconds([contender.pid])
  await collect(REQUESTS, (number) => contender.introspect(tokens[number]))
  const each = (seconds) => (seconds / REQUESTS) * 1e6
  return { exchange: each(between - begun), introspection: each(processSeconds([contender.pid]) - between) }
}

async function exchangeAll({ exchange, introspect }, codes) {
  const tokens = await collect(codes.length, (number) => exchange(codes[number]))
  await collect(tokens.length, (number) => introspect(tokens[number]))
}

async function collect(count, send) {
  const answers = Array.from({ length: count })
  const one = async (number) => {
    answers[number] = await send(number)
  }
  await sendAll(one, { count, senders: SENDERS })
  return answers
}

function report(step, rounds) {
  const of = (name) => rounds.get(name).map((figures) => figures[step])
  const none = of(VARIANTS[0].name)
  const rows = VARIANTS.map(({ name }) => {
    const values = of(name)
    const paired = median(values.map((value, round) => value / none[round]))
    return [name, quantile(values, 0.25).toFixed(0), median(values).toFixed(0), paired.toFixed(2)]
  })
  console.log(`${step}, µs of processor time\n${table(['', 'lower quartile', 'median', 'paired'], rows)}\n`)
}
