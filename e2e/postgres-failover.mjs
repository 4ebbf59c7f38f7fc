// Failovers of Postgres under load, in rounds: with synchronous replication, and with a standby that is late by a given time.
// Counts lost tokens and undone endings, and measures the recovery. Not run by npm test.
// npm run check:postgres-failover [-- --rounds 3 --late 0,100,1000]
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { prepareFailovers, startReplicatedWorld } from './system/fail-over.mjs'

const TIME_LIMIT_MINUTES = 15
/** The time from the end of the primary to the promotion, as if a cluster manager noticed it. */
const DETECTION_MS = 1_000
/** Time under load with synchronous replication. */
const LOAD_MS = 2_000
/** Requests may get 503 for so long after the promotion. */
const RECOVERY_MS = 5_000

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, late: { type: 'string', default: '0,100,1000' } }
})
const rounds = Number(values.rounds)
const delays = values.late.split(',').map(Number)
if (!(rounds >= 1 && rounds <= 20) || !delays.every((delay) => delay >= 0 && delay <= 10_000)) {
  console.error('--rounds is a number from 1 to 20, --late a list of milliseconds from 0 to 10000.')
  process.exit(2)
}

const world = await startReplicatedWorld()
let stopped = false
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => finish(130, [`stopped by ${signal}`]))
setTimeout(() => finish(1, [`stopped after ${TIME_LIMIT_MINUTES} minutes`]), TIME_LIMIT_MINUTES * 60_000).unref()

try {
  const problems = await run()
  const verdict = problems.length === 0 ? 'PASSED: synchronous replication lost nothing' : 'FAILED'
  await finish(problems.length === 0 ? 0 : 1, ['', ...problems, verdict])
} catch (error) {
  await finish(1, [error.stack])
}

async function run() {
  const failOver = await prepareFailovers(world)
  const kinds = [
    { name: 'synchronous' },
    { name: 'synchronous, connections stay open', staysSilent: true },
    ...delays.map((delay) => ({ name: `standby ${delay} ms late`, delay }))
  ]
  const problems = []
  for (let round = 1; round <= rounds; round++) {
    for (const { name, delay, staysSilent } of kinds) {
      const result = await failOver({
        isSynchronous: delay === undefined,
        staysSilent,
        detectionMs: DETECTION_MS,
        untilKilled: (_, isolatedAt) => wait(Math.max(0, isolatedAt + (delay ?? LOAD_MS) - Date.now()))
      })
      console.log(`${name}, round ${round}: ${describe(result)}`)
      problems.push(...problemsOf(result, delay === undefined).map((problem) => `${name}, round ${round}: ${problem}`))
    }
  }
  return problems
}

function describe({ answered, endings, isolatedAt, killedAt, lostAccess, lostRefresh, undone, after, recoveryMs }) {
  const last = [answered, endings].map((all) => all.filter(({ at }) => at >= isolatedAt && at < killedAt).length)
  return [
    `${answered.length} token responses and ${endings.length} endings answered, ${last[0]} and ${last[1]} in the last ${killedAt - isolatedAt} ms`,
    `lost ${lostAccess.length} access and ${lostRefresh.length} refresh tokens, ${undone.length} endings undone`,
    `${after.unavailable} requests got 503, the last ${recoveryMs} ms after the promotion`
  ].join('; ')
}

function problemsOf(result, isSynchronous) {
  const { lostAccess, lostRefresh, undone, accepted, second, after, recoveryMs, replicatedUntil } = result
  const expected = isSynchronous ? [] : [400, 401]
  const early = [...lostAccess, ...lostRefresh, ...undone].filter(({ at }) => isSynchronous || at < replicatedUntil)
  const unexpected = after.failed.filter(({ status }) => !expected.includes(status))
  return [
    ...(early.length > 0 ? [`${early.length} tokens or endings lost that the standby had`] : []),
    ...(accepted.length > 0 ? [`lost tokens got ${accepted}`] : []),
    ...(second.length > 0 ? [`second exchanges got ${second}`] : []),
    ...unexpected.slice(0, 5).map(({ what, status, said }) => `${what} ended with ${status}: ${said}`),
    ...(recoveryMs > RECOVERY_MS ? [`503 until ${recoveryMs} ms after the promotion`] : [])
  ]
}

async function finish(code, lines) {
  if (stopped) return
  stopped = true
  await world.close()
  console.log(lines.join('\n'))
  process.exit(code)
}
