import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../lib/processes/ports.mjs'

const packageFolder = fileURLToPath(new URL('../..', import.meta.url))

export type StandInCheckout = Awaited<ReturnType<typeof createStandInCheckout>>
export type Ended = { code: number | null; stdout: string; stderr: string }

/** A checkout with the real launcher and replaced services, in a path with a space, with its own ports. */
export async function createStandInCheckout() {
  const directory = mkdtempSync(path.join(tmpdir(), 'valetkey stand-in '))
  const place = (from: string, to: string) =>
    cpSync(path.join(packageFolder, from), path.join(directory, to), { recursive: true })
  place('bin', 'packages/dev-stack/bin')
  place('lib', 'packages/dev-stack/lib')
  symlinkSync(path.join(packageFolder, 'node_modules'), path.join(directory, 'packages/dev-stack/node_modules'))
  writeFileSync(path.join(directory, 'package.json'), '{"type":"module"}')
  for (const folder of ['services/authorization-server', 'services/resource-server', 'examples/demo-client']) {
    mkdirSync(path.join(directory, folder, 'dist/cli'), { recursive: true })
    place('test/stand-ins/server.js', `${folder}/dist/main.js`)
    place('test/stand-ins/command-line.js', `${folder}/dist/operator/cli/main.js`)
  }
  place('test/stand-ins/start.js', 'services/authorization-server/dist/start.js')
  place('test/stand-ins/features.js', 'services/authorization-server/dist/features.js')
  mkdirSync(path.join(directory, 'node_modules/jest/bin'), { recursive: true })
  place('test/stand-ins/jest.js', 'node_modules/jest/bin/jest.js')
  const ports = await freePorts(7)
  const environment: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    STAND_IN_STATE: path.join(directory, 'state'),
    AUTH_PUBLIC_LISTEN: `localhost:${ports[0]}`,
    AUTH_INTERNAL_LISTEN: `localhost:${ports[1]}`,
    AUTH_OPERATOR_LISTEN: `localhost:${ports[2]}`,
    FILES_PUBLIC_LISTEN: `localhost:${ports[3]}`,
    FILES_OPERATOR_LISTEN: `localhost:${ports[4]}`,
    DEMO_LISTEN: `127.0.0.1:${ports[5]}`,
    DEMO_PROVIDER_LISTEN: `127.0.0.1:${ports[6]}`
  }
  const started: ChildProcess[] = []

  /** Starts one of the programs in bin. */
  function start(program: string, args: string[] = [], changes: NodeJS.ProcessEnv = {}) {
    const file = path.join(directory, 'packages/dev-stack/bin', program)
    const child = spawn(process.execPath, [file, ...args], { cwd: directory, env: { ...environment, ...changes } })
    started.push(child)
    const said = { stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (text) => (said.stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text) => (said.stderr += text))
    const ended = new Promise<Ended>((resolve) => child.on('close', (code) => resolve({ code, ...said })))
    const saysRunning = () => said.stdout.includes('Valetkey is running.')
    return { child, said, ended, untilRunning: () => until(saysRunning, () => said.stderr) }
  }

  /** The calls of the command lines, and the created users and clients. */
  function state(kind: 'calls' | 'users' | 'clients') {
    return readFileSync(path.join(directory, `state.${kind}`), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  }

  async function dispose() {
    for (const child of started) child.kill('SIGKILL')
    await new Promise((resolve) => setTimeout(resolve, 300))
    rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }

  return { directory, ports, environment, start, state, dispose, file: (name: string) => path.join(directory, name) }
}

/** Only a condition that never comes true takes as long. */
const UNTIL_LIMIT_MS = 150_000
/** The limit of tests that wait with `until`: a machine under load is slow. */
export const TEST_LIMIT_MS = 180_000

export async function until(holds: () => boolean, explain: () => string = () => ''): Promise<void> {
  const deadline = Date.now() + UNTIL_LIMIT_MS
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`This did not come true: ${holds}\n${explain()}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const freePorts = (count: number) => Promise.all(Array.from({ length: count }, freePort))
