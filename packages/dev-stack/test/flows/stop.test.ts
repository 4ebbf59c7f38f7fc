import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals'
import { library } from '../support/library.js'
import { TEST_LIMIT_MS, until } from '../support/stand-in-checkout.js'

jest.setTimeout(TEST_LIMIT_MS)

const { createProcesses } = await library('processes/processes')
const { nodeProgram } = await library('processes/programs')
const { lastLines } = await library('processes/logs')

type Handle = { child: { pid: number }; exited: Promise<{ signal: string | null }>; logFile: string }

let directory: string
let reported: string[]
let processes: ReturnType<typeof createProcesses>
beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'valetkey-stop-'))
})
afterEach(() => processes?.killAll())
afterAll(() => rmSync(directory, { recursive: true, force: true }))

function create(): void {
  reported = []
  processes = createProcesses({
    // The store gets long enough to end by itself on a machine under load.
    limits: { program: 3_000, store: 60_000, kill: 60_000 },
    report: (line: string) => reported.push(line)
  })
}

/** A program that does this at SIGTERM; resolves when it is ready for one. */
async function start(name: string, atSigterm: string, isStore = false): Promise<Handle> {
  const program = `process.on('SIGTERM', () => { ${atSigterm} }); setInterval(() => {}, 1000); console.log('ready')`
  const handle = processes.start({
    name,
    program: nodeProgram('-e', [program]),
    environment: process.env,
    logFile: path.join(directory, `${name}-${Date.now()}.log`),
    isStore
  })
  await until(() => lastLines(handle).includes('ready'))
  return handle
}

test('a process that ignores SIGTERM is killed after the time limit, and a line reports it', async () => {
  create()
  const deaf = await start('deaf server', '')
  await processes.stopAll()
  expect(await deaf.exited).toMatchObject({ signal: 'SIGKILL' })
  expect(reported).toEqual(['The deaf server did not stop within 3 seconds; killing it.'])
})

test('other processes stop meanwhile, and a store stops only after all processes that use it', async () => {
  create()
  const [store, deaf] = [await start('store', 'process.exit(0)', true), await start('deaf server', '')]
  const polite = await start('polite server', 'process.exit(0)')
  const ended: string[] = []
  for (const [name, { exited }] of Object.entries({ store, deaf, polite })) exited.then(() => ended.push(name))
  await processes.stopAll()
  expect(ended).toEqual(['polite', 'deaf', 'store'])
  expect(reported).toHaveLength(1)
})
