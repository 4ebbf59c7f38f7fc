// What a killed container and a restart of everything do to the others.
import assert from 'node:assert/strict'
import { run } from './programs.mjs'
import { inspect } from './stack.mjs'

const JOBS = ['secrets', 'databases', 'authorization-migrations', 'files-migrations', 'introspection-credential']
const REQUESTS = 20

export async function outageChecks(report, stack, { app, tokens }) {
  await report.check('a killed resource server delays no request by a second', async () => {
    const [victim] = await stack.containersOf('resource-server')
    await run(['docker', 'kill', victim])
    for (let request = 0; request < REQUESTS; request += 1) {
      const start = performance.now()
      const { status } = await app.listFiles(tokens.access_token)
      const milliseconds = performance.now() - start
      assert.equal(status, 200)
      assert.ok(milliseconds < 1_000, `request ${request} took ${milliseconds} ms`)
    }
    await stack.start()
  })
  await report.check('docker compose restart: every job ends with 0', async () => {
    await stack.compose(['restart'], { seconds: 240 })
    const ids = (await Promise.all(JOBS.map((job) => stack.compose(['ps', '--all', '--quiet', job])))).map(
      ({ stdout }) => stdout.trim()
    )
    const deadline = Date.now() + 60_000
    let jobs = await inspect(ids)
    while (jobs.some(({ State }) => State.Status !== 'exited') && Date.now() < deadline) jobs = await inspect(ids)
    const unclean = jobs.filter(({ State }) => State.Status !== 'exited' || State.ExitCode !== 0)
    assert.deepEqual(
      unclean.map(({ Name, State }) => `${Name}: ${State.Status} with ${State.ExitCode}`),
      []
    )
    await stack.start()
  })
}
