import { expect, test } from '@jest/globals'

type Work = () => Promise<unknown>
type Processes = { stopAll: Work }
type Rates = Record<string, number>
type Table = { rows: number; heap: number; indexes: Rates }
type Rig = { stores: { databaseUrls: string[] }; requests: { close(): void } }
type Mix = {
  warmUp(count: number): Promise<number>
  run(perSecond: Rates, seconds: number): Promise<Rates & { counts: Rates }>
}

const load = async (file: string) => import(new URL(`../../${file}`, import.meta.url).href)
const { startRig } = (await load('bench/capacity/rig.mjs')) as { startRig(place: object, size: object): Promise<Rig> }
const { createMix, OPERATIONS } = (await load('bench/capacity/mix.mjs')) as {
  createMix(rig: Rig): Promise<Mix>
  OPERATIONS: string[]
}
const { measureTables } = (await load('bench/capacity/measure-sizes.mjs')) as {
  measureTables(url: string, tables: string[]): Promise<Record<string, Table>>
}
const { createProcesses } = (await load('packages/dev-stack/lib/processes/processes.mjs')) as {
  createProcesses(): Processes
}
const { makeTestDirectory, removeTestDirectory } = (await load('packages/dev-stack/lib/tests/test-directory.mjs')) as {
  makeTestDirectory(): { directory: string }
  removeTestDirectory(directory: string): Promise<void>
}

test('a run of bench:capacity sends every operation to two processes of each service and reads all meters', async () => {
  const processes = createProcesses()
  const { directory } = makeTestDirectory()
  const undo: Work[] = [() => removeTestDirectory(directory), () => processes.stopAll()]
  try {
    const afterwards = (step: Work) => undo.push(step)
    const rig = await startRig({ directory, processes, afterwards }, { pairs: 2, rows: 1_000, people: 2 })
    undo.push(async () => rig.requests.close())
    const mix = await createMix(rig)
    await mix.warmUp(300)
    const [databaseUrl = ''] = rig.stores.databaseUrls
    const before = await measureTables(databaseUrl, ['grants', 'access_tokens'])
    const run = await mix.run(Object.fromEntries(OPERATIONS.map((name) => [name, 5])), 1)
    const after = await measureTables(databaseUrl, ['grants', 'access_tokens'])

    for (const name of OPERATIONS) expect(run.counts[name]).toBeGreaterThan(2)
    for (const meter of ['authorizationServer', 'resourceServer', 'postgres', 'redis', 'walBytes', 'commands']) {
      expect(run[meter]).toBeGreaterThan(0)
    }
    const { authorization = 0, refresh = 0 } = run.counts
    const added = (table: string) => (after[table]?.rows ?? 0) - (before[table]?.rows ?? 0)
    expect([added('grants'), added('access_tokens')]).toEqual([authorization, authorization + refresh])
  } finally {
    for (const step of undo.toReversed()) await step()
  }
}, 120_000)
