// npm run bench:profile -- exchange: profiles a server in one step of the flow (authorize, exchange with its codes,
// introspect, files). Prints the most expensive functions and packages, and writes a profile for the developer tools of
// Chrome or for speedscope. README.md lists the settings. Linux only.
import { copyFileSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { moveToOtherCore } from './lib/cores.mjs'
import { SENDERS } from './lib/measure.mjs'
import { operationsOf } from './lib/operations.mjs'
import { selfTimes } from './lib/self-times.mjs'
import { sendAll } from './lib/send-all.mjs'
import { createStores } from './lib/stores.mjs'
import { startValetkey } from './lib/valetkey.mjs'
import { TOKENS_IN_USE } from './lib/whole-flow.mjs'
import { inWorkplace } from './lib/workplace.mjs'

const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 20_000)
// Codes are collected before they are exchanged, and their lifetime is at most 29 seconds.
const AT_ONCE = 4_000
/** The index of the server that does the step, in the list of process ids. */
const SERVER = { authorize: 0, exchange: 0, introspect: 0, files: 1 }
const LINES = 25

const [step = 'exchange', out = `${step}.cpuprofile`] = process.argv.slice(2)
if (!(step in SERVER)) {
  console.error(`The step must be one of ${Object.keys(SERVER).join(', ')}.`)
  process.exit(2)
}

await inWorkplace(async ({ directory, processes, afterwards }) => {
  moveToOtherCore()
  const stores = await createStores(['authorization', 'files'], { directory, processes, environment: process.env })
  afterwards(stores.drop)
  const profiles = path.join(directory, 'profiles')
  const target = await startValetkey({
    ...stores,
    directory,
    processes,
    environment: { CODE_TTL: '29', ...process.env },
    nodeOptions: ['--cpu-prof', `--cpu-prof-dir=${profiles}`, '--cpu-prof-interval=400']
  })
  await work(operationsOf(target))
  // A process writes its profile when it ends.
  await processes.stopAll()
  const pid = target.pids[SERVER[step]]
  const file = readdirSync(profiles).find((name) => name.split('.').includes(String(pid)))
  if (file === undefined) throw new Error('the server has left no profile')
  copyFileSync(path.join(profiles, file), out)
  report(JSON.parse(readFileSync(out, 'utf8')))
  return 0
})

async function work(operations) {
  const tokens = await tokensFor(operations, TOKENS_IN_USE)
  for (let sent = 0; sent < REQUESTS; sent += AT_ONCE) {
    if (step === 'authorize') await collect(AT_ONCE, operations.authorize)
    else if (step === 'exchange') await tokensFor(operations, AT_ONCE)
    else await collect(AT_ONCE, (number) => operations[step](tokens[number % tokens.length]))
  }
  operations.close()
}

async function tokensFor(operations, count) {
  const codes = await collect(count, operations.authorize)
  return collect(count, (number) => operations.exchange(codes[number]))
}

async function collect(count, send) {
  const answers = []
  await sendAll(async (number) => answers.push(await send(number)), { count, senders: SENDERS })
  return answers
}

function report(profile) {
  const { milliseconds, functions, packages } = selfTimes(profile)
  console.log(
    `${step}: ${REQUESTS} requests, ${Math.round(milliseconds)} ms of the server's main thread, start included`
  )
  for (const [title, shares] of Object.entries({ functions, packages })) {
    console.log(`\n${title}`)
    for (const { name, share } of shares.slice(0, LINES))
      console.log(`${(share * 100).toFixed(1).padStart(5)} %  ${name}`)
  }
  console.log(`\nwritten to ${out}`)
}
