import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { root } from './documents.js'

/**
 * Runs promtool of Prometheus. `npm test` sets the variable, and leaves out the tests that need it if it is missing.
 * @param args with paths relative to the root of the checkout
 * @param input for standard input
 * @returns exit code and output
 */
export function promtool(args: readonly string[], input = ''): { code: number | null; output: string } {
  const program = process.env.TEST_PROMTOOL
  if (!program)
    throw new Error('These tests need promtool: install it and run "npm test", or name it in TEST_PROMTOOL.')
  const options = { cwd: path.resolve(root), input, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync(program, args, options)
  return { code: status, output: stdout + stderr }
}
