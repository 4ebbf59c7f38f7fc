import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import type { Environment } from '@valetkey/service-kit'
import { freePort } from '../../../../packages/dev-stack/lib/processes/ports.mjs'

const MAIN = path.resolve(import.meta.dirname, '../../dist/main.js')

export type ServiceProcess = {
  child: ChildProcess
  publicPort: number
  internalPort: number
  operatorPort: number
  /** The text of stdout. */
  log(): string
  errors(): string
  exited: Promise<number | null>
}

/** A setting of a process in which timers of these lengths never fire. */
export function holdingTimers(...milliseconds: readonly number[]): Environment {
  const program = `const { setTimeout: start } = globalThis
    globalThis.setTimeout = (...call) => {
      const timer = start(...call)
      if (${JSON.stringify(milliseconds)}.includes(call[1])) clearTimeout(timer)
      return timer
    }`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(program)}` }
}

/** Starts the service as a process with only these settings in its environment. */
export async function startServiceProcess(settings: Environment): Promise<ServiceProcess> {
  const [publicPort, internalPort, operatorPort] = [await freePort(), await freePort(), await freePort()]
  const listeners = {
    PUBLIC_LISTEN: `127.0.0.1:${publicPort}`,
    INTERNAL_LISTEN: `127.0.0.1:${internalPort}`,
    OPERATOR_LISTEN: `127.0.0.1:${operatorPort}`
  }
  const child = spawn(process.execPath, [MAIN], {
    env: { ...listeners, ...settings },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  let log = ''
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const exited = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
  await new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk) => {
      log += chunk
      if (log.includes('"event":"started"')) resolve()
    })
    exited.then(() => resolve())
  })
  return { child, publicPort, internalPort, operatorPort, log: () => log, errors: () => errors, exited }
}
