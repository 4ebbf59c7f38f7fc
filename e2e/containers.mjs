// Checks the compose stack with three resource servers: main flow, isolation of the containers, outages, rotation of secrets,
// backup and restore, two authorization servers, and the same behind the TLS proxy.
// Needs `docker compose`, or the command in COMPOSE. Builds the images, starts its own project on free ports, and removes
// everything at the end. node e2e/containers.mjs
import assert from 'node:assert/strict'
import { backUp, restoreChecks } from './containers/backup.mjs'
import { confinementChecks, portsInUse } from './containers/confinement.mjs'
import { endingChecks, mainJobChecks } from './containers/main-job.mjs'
import { outageChecks } from './containers/outages.mjs'
import { killRunning } from './containers/programs.mjs'
import { createReport } from './containers/report.mjs'
import { rotationChecks } from './containers/rotation.mjs'
import { runbookChecks } from './containers/runbooks.mjs'
import { inspect, prepareStack } from './containers/stack.mjs'
import { tlsChecks } from './containers/tls.mjs'
import { twoServerChecks } from './containers/two-servers.mjs'

const TIME_LIMIT_MINUTES = 20

const report = createReport()
const usedBefore = await portsInUse()
const stack = await prepareStack()
let ending = false

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => abort(`stopped by ${signal}`))
setTimeout(() => abort(`stopped after ${TIME_LIMIT_MINUTES} minutes`), TIME_LIMIT_MINUTES * 60_000).unref()

await report.check('docker compose up, three resource servers: everything is healthy', () => stack.up())
if (!report.hasFailed()) {
  const job = await mainJobChecks(report, stack)
  await confinementChecks(report, stack, usedBefore)
  await report.check('every service ends on SIGTERM, and finds its data after the start', () => restart(job))
  await outageChecks(report, stack, job)
  await runbookChecks(report, stack)
  await rotationChecks(report, stack, job)
  const backup = await backUp(report, stack, job)
  await endingChecks(report, job)
  await restoreChecks(report, stack, job, backup)
  await backup.remove()
  await twoServerChecks(report, stack, job.client)
  await tlsChecks(report, stack, job.client)
}
if (report.hasFailed() && !ending) console.log(await stack.logs())
await end()

async function restart({ app, tokens }) {
  // Containers are found by id, because a stopped container is not listed.
  const ids = (await stack.inspectAll()).map((container) => container.Id)
  await stack.compose(['stop'], { seconds: 120 })
  const unclean = (await inspect(ids)).filter(({ State }) => State.ExitCode !== 0)
  assert.deepEqual(
    unclean.map(({ Name, State }) => `${Name} ended with ${State.ExitCode}`),
    []
  )
  await stack.start()
  assert.equal((await app.listFiles(tokens.access_token)).status, 200)
}

async function abort(reason) {
  if (ending) return
  await report.check('the run completes', () => assert.fail(reason))
  killRunning()
  await end()
}

async function end() {
  if (ending) return
  ending = true
  await report.check('docker compose down leaves nothing behind', () => stack.down())
  console.log(report.summary())
  process.exit(report.exitCode())
}
