import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, expect, test } from '@jest/globals'

const COMPILED = pathToFileURL(path.resolve(import.meta.dirname, '../../dist/index.js')).href
/** Written by the start, when the signal handlers are already installed. */
const STARTING = 'the service is starting'

const children: ChildProcess[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** A process with these bodies of its start and stop. */
function run({ start = '', stop = '' }: { start?: string; stop?: string }) {
  const program = `
    import { buildLogger, ConfigurationError, runUntilSignal } from ${JSON.stringify(COMPILED)}
    setInterval(() => {}, 1000)
    const logger = buildLogger('test', 'info')
    await runUntilSignal(async () => {
      process.stdout.write('${STARTING}\\n')
      ${start}
      return { logger, drainDelay: 0, close: async () => { ${stop} } }
    })`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'pipe']
  })
  children.push(child)
  let output = ''
  let errors = ''
  const exit = once(child, 'close').then(([code]) => code as number | null)
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  return {
    /** Sends a signal when the process has written a text. */
    async signalAfter(text: string, signal: NodeJS.Signals) {
      while (!output.includes(text)) await once(child.stdout, 'data')
      child.kill(signal)
    },
    /** The exit code, and all that the process wrote. */
    end: async () => ({ code: await exit, output, errors })
  }
}

test.each(['SIGTERM', 'SIGINT'] as const)('%s closes the service and ends the process with 0', async (signal) => {
  const { signalAfter, end } = run({ stop: "process.stdout.write('closed')" })
  await signalAfter(STARTING, signal)
  expect(await end()).toMatchObject({ code: 0, output: expect.stringContaining('closed') })
})

test('a close that fails ends the process with 1, and the log has the error', async () => {
  const { signalAfter, end } = run({ stop: "throw new Error('no connection')" })
  await signalAfter(STARTING, 'SIGTERM')
  expect(await end()).toMatchObject({ code: 1, output: expect.stringContaining('no connection') })
})

test('a second signal ends the process while close is pending', async () => {
  const { signalAfter, end } = run({ stop: 'await new Promise(() => {})' })
  await signalAfter(STARTING, 'SIGTERM')
  await signalAfter('"event":"stopping"', 'SIGINT')
  // The second signal ended it, not the time limit, which ends the process with 1 as well.
  expect(await end()).toMatchObject({ code: 1, output: expect.not.stringContaining('stop_timed_out') })
})

test('a signal during the start closes the service after the start', async () => {
  const { signalAfter, end } = run({
    start: "await new Promise((resolve) => process.once('SIGTERM', resolve)); process.stdout.write('started')",
    stop: "process.stdout.write('closed')"
  })
  await signalAfter(STARTING, 'SIGTERM')
  expect(await end()).toMatchObject({ code: 0, output: expect.stringMatching(/started.*closed/s) })
})

test.each([
  [
    "throw new ConfigurationError(['ISSUER is missing', 'COOKIE_KEYS is missing'])",
    'ISSUER is missing\nCOOKIE_KEYS is missing\n'
  ],
  ["throw new Error('the port is taken')", 'could not start: Error: the port is taken\n']
])('a start that fails ends the process with 1 and writes the problems to stderr', async (start, errors) => {
  expect(await run({ start }).end()).toMatchObject({ code: 1, errors })
})
