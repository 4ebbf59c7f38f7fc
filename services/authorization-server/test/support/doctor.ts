import { spawn } from 'node:child_process'
import path from 'node:path'
import type { Environment } from '@valetkey/service-kit'

const MAIN = path.resolve(import.meta.dirname, '../../dist/operator/cli/main.js')

type Document = { findings: { check: string; severity: string; what: string }[]; fatal: number; warnings: number }

/** Runs `valetkey doctor --json` with only these settings in its environment. */
export async function runDoctor(environment: Environment): Promise<{ code: number | null; document: Document }> {
  const child = spawn(process.execPath, [MAIN, 'doctor', '--json'], { env: environment as NodeJS.ProcessEnv })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, document: JSON.parse(out) as Document }
}
