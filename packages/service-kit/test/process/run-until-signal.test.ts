import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, expect, test } from '@jest/globals'

const COMPILED = pathToFileURL(path.resolve(import.meta.dirname, '../../dist/index.js')).href

const children: ChildProcess[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** A process that lives until a signal, with these as the bodies of its start and of its stop. */
async function start(stop: string, starting = ''): Promise<ChildProcess> {
  const program = `
    import { buildLogger, ConfigurationError, runUntilSignal } from ${JSON.stringify(COMPILED)}
    setInterval(() => {}, 1000)
    setImmediate(() => process.stdout.write('ready\\n'))
    const logger = buildLogger('test', 'info')
    await runUntilSignal(async () => {
      ${starting}
      return { logger, drainDelay: 0, close: async () => { ${stop} } }
    })`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'pipe']
  })
  children.push(child)
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  return child
}

async function exitCodeAfter(child: ChildProcess, ...signals: NodeJS.Signals[]): Promise<number | null> {
  const exited = once(child, 'exit')
  for (const signal of signals) {
    child.kill(signal)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const [code] = await exited
  return code
}

test.each(['SIGTERM', 'SIGINT'] as const)('%s runs the stop and ends with 0', async (signal) => {
  expect(await exitCodeAfter(await start("process.stdout.write('flushed')"), signal)).toBe(0)
})

test('a stop that fails ends with 1, and says why in the log', async () => {
  const child = await start("throw new Error('the store was gone')")
  let log = ''
  child.stdout?.on('data', (chunk) => {
    log += chunk
  })
  expect(await exitCodeAfter(child, 'SIGTERM')).toBe(1)
  expect(log).toContain('the store was gone')
})

test('a second signal ends a stop that hangs', async () => {
  const startedAt = Date.now()
  expect(await exitCodeAfter(await start('await new Promise(() => {})'), 'SIGTERM', 'SIGINT')).toBe(1)
  expect(Date.now() - startedAt).toBeLessThan(5_000)
})

test('a signal during the start stops the service once it has started', async () => {
  const child = await start(
    "process.stdout.write('closed')",
    'await new Promise((resolve) => setTimeout(resolve, 300))'
  )
  let log = ''
  child.stdout?.on('data', (chunk) => {
    log += chunk
  })
  expect(await exitCodeAfter(child, 'SIGTERM')).toBe(0)
  expect(log).toContain('closed')
})

test.each([
  [
    "throw new ConfigurationError(['ISSUER is missing', 'COOKIE_KEYS is missing'])",
    'ISSUER is missing\nCOOKIE_KEYS is missing\n'
  ],
  ["throw new Error('the port is taken')", 'could not start: Error: the port is taken\n']
])('a start that fails ends with 1 and says why on stderr', async (starting, lines) => {
  const child = await start('', `await new Promise((resolve) => setTimeout(resolve, 300)); ${starting}`)
  let errors = ''
  child.stderr?.on('data', (chunk) => {
    errors += chunk
  })
  expect(await exitCodeAfter(child)).toBe(1)
  expect(errors).toBe(lines)
})
