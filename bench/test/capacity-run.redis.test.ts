import { expect, test } from '@jest/globals'

type Work = () => Promise<unknown>
type Processes = { stopAll: Work }
type Rates = Record<string, number>
type Table = { name: string; rows: number }
type Rig = { stores: { databaseUrls: string[] }; requests: { close(): void } }
type Mix = {
  warmUp(count: number): Promise<void>
  run(perSecond: Rates, seconds: number): Promise<Rates & { counts: Rates; sent: Rates }>
}

const load = async (file: string) => import(new URL(`../../${file}`, import.meta.url).href)
const { startRig } = (await load('bench/capacity/rig.mjs')) as { startRig(place: object, size: object): Promise<Rig> }
const { createMix, OPERATIONS } = (await load('bench/capacity/mix.mjs')) as {
  createMix(rig: Rig): Promise<Mix>
  OPERATIONS: string[]
}
const { tableSizes } = (await load('bench/lib/store-sizes.mjs')) as { tableSizes(url: string): Promise<Table[]> }
const { createProcesses } = (await load('packages/dev-stack/lib/processes/processes.mjs')) as {
  createProcesses(): Processes
}
const { makeTestDirectory, removeTestDirectory } = (await load('packages/dev-stack/lib/tests/test-directory.mjs')) as {
  makeTestDirectory(): { directory: string }
  removeTestDirectory(directory: string): Promise<void>
}

test('a run of bench:capacity sends every operation and reads all meters', async () => {
  const processes = createProcesses()
  const { directory } = makeTestDirectory()
  const undo: Work[] = [() => removeTestDirectory(directory), () => processes.stopAll()]
  try {
    const afterwards = (step: Work) => undo.push(step)
    const rig = await startRig({ directory, processes, afterwards }, { rows: 1_000, people: 2 })
    undo.push(async () => rig.requests.close())
    const mix = await createMix(rig)
    await mix.warmUp(300)
    const [databaseUrl = ''] = rig.stores.databaseUrls
    const before = await tableSizes(databaseUrl)
    const run = await mix.run(Object.fromEntries(OPERATIONS.map((name) => [name, 5])), 1)
    const after = await tableSizes(databaseUrl)

    for (const name of OPERATIONS) expect(run.counts[name]).toBeGreaterThan(2)
    for (const meter of [
      'authorizationServer',
      'resourceServer',
      'postgres',
      'redis',
      'walBytes',
      'commands',
      'auditRows'
    ]) {
      expect(run[meter]).toBeGreaterThan(0)
    }
    const rowsOf = (sizes: Table[], table: string) => sizes.find(({ name }) => name === table)?.rows ?? 0
    const added = (table: string) => rowsOf(after, table) - rowsOf(before, table)
    const { authorization = 0, refresh = 0 } = run.sent
    expect([added('grants'), added('access_tokens')]).toEqual([authorization, authorization + refresh])
  } finally {
    for (const step of undo.toReversed()) await step()
  }
})
