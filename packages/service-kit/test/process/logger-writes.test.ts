import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from '@jest/globals'

const COMPILED = pathToFileURL(path.resolve(import.meta.dirname, '../../dist/index.js')).href

/** Runs a program that has a `logger`, and counts `writes` of the log. Its stdout and stderr are one file, in order. */
async function run(program: string): Promise<{ lines: string[]; code: number | null; signal: NodeJS.Signals | null }> {
  const start = `
    import fs from 'node:fs'
    const { writeSync } = fs
    let writes = 0
    fs.writeSync = (...all) => { if (all[0] === 1) writes++; return writeSync(...all) }
    const { buildLogger } = await import(${JSON.stringify(COMPILED)})
    const logger = buildLogger('test', 'info')
    const turn = () => new Promise((resolve) => setImmediate(resolve))`
  const evaluated = ['--input-type=module', '--eval', `${start}\n${program}`]
  const child = spawn('/bin/sh', ['-c', 'exec "$0" "$@" 2>&1', process.execPath, ...evaluated], { stdio: 'pipe' })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  const [code, signal] = await once(child, 'close')
  const lines = output.split('\n').map((line) => (line.startsWith('{') ? JSON.parse(line).msg : line))
  return { lines, code, signal }
}

test('log: the lines of one turn of the event loop are one write, in their order', async () => {
  const { lines } = await run(`
    for (const number of [1, 2, 3]) logger.info('line ' + number)
    await turn()
    await turn()
    const afterOneTurn = writes
    logger.info('line 4')
    await turn()
    await turn()
    process.stderr.write(afterOneTurn + ' and ' + writes + ' writes')`)
  expect(lines).toEqual(['line 1', 'line 2', 'line 3', 'line 4', '1 and 2 writes'])
})

test('log: all lines are written before the process ends', async () => {
  const { lines, code } = await run(`logger.info('last'); process.exit(3)`)
  expect({ lines, code }).toEqual({ lines: ['last', ''], code: 3 })
})

test('log: all lines are written before a crash is reported', async () => {
  const { lines, code } = await run(`logger.info('last'); null.crash`)
  expect(code).toBe(1)
  expect(lines[0]).toBe('last')
  expect(lines.join('\n')).toContain('TypeError')
})

test('log: a line of level fatal is written at once, with the lines before it', async () => {
  const { lines, signal } = await run(
    `logger.info('first'); logger.fatal('last'); process.kill(process.pid, 'SIGKILL')`
  )
  expect({ lines, signal }).toEqual({ lines: ['first', 'last', ''], signal: 'SIGKILL' })
})

test('log: a SIGKILL loses at most the lines of one turn', async () => {
  const { lines } = await run(`
    logger.info('earlier turn')
    await turn()
    await turn()
    logger.info('this turn')
    process.kill(process.pid, 'SIGKILL')`)
  expect(lines[0]).toBe('earlier turn')
})
