import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const tool = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url)
)
const shim = new URL('./fs-with-glob.mjs', import.meta.url).href

type Check = { id: string; status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO' }

export type ConformanceResult = {
  code: number | null
  /** The ids of successful checks, sorted. */
  passed: string[]
  /** The ids of failed checks and of warnings, sorted. */
  problems: string[]
}

/**
 * Runs `conformance` with arguments until it ends.
 * @param onLine receives each line of its output. If it rejects, the run ends: the tool would wait for a user for minutes.
 */
export async function runConformance(
  args: readonly string[],
  onLine: (line: string) => Promise<unknown> | undefined = () => undefined
): Promise<ConformanceResult> {
  const results = mkdtempSync(path.join(tmpdir(), 'valetkey-conformance-'))
  try {
    const child = spawn(process.execPath, ['--import', shim, tool, ...args, '--output-dir', results], {
      stdio: ['ignore', 'pipe', 'inherit']
    })
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    const reactions: (Promise<unknown> | undefined)[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      const reaction = onLine(line)
      reaction?.catch(() => child.kill())
      reactions.push(reaction)
    }
    const code = await ended
    await Promise.all(reactions)
    const checks = readdirSync(results).flatMap((scenario) => readChecks(path.join(results, scenario, 'checks.json')))
    const withStatus = (...statuses: Check['status'][]) =>
      [...new Set(checks.filter(({ status }) => statuses.includes(status)).map(({ id }) => id))].sort()
    return { code, passed: withStatus('SUCCESS'), problems: withStatus('FAILURE', 'WARNING') }
  } finally {
    rmSync(results, { recursive: true, force: true })
  }
}

const readChecks = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as Check[]
