// Starts all of Valetkey with `npm start`. Plain JavaScript, so that scripts can use it, too.
import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findPortProblems } from '../../packages/dev-stack/lib/processes/ports.mjs'
import { removeTestDirectory } from '../../packages/dev-stack/lib/tests/test-directory.mjs'

const bin = fileURLToPath(new URL('../../packages/dev-stack/bin', import.meta.url))
// These only end a hang.
const START_TIME_LIMIT_MS = 150_000
const STOP_TIME_LIMIT_MS = 120_000

/** A stack with its own folder and ports. See stack.d.mts for the result. */
export async function createStack({ files, environment: settings = {}, demoProvider = false }) {
  const directory = mkdtempSync(path.join(tmpdir(), 'valetkey-e2e-'))
  const ports = await freePorts()
  const environment = { ...basics(), ...ports, VALETKEY_DATA: path.join(directory, 'data'), ...settings }
  let launcher
  let issuer

  async function start() {
    const options = demoProvider ? [] : ['--no-demo-provider']
    launcher = program('start.mjs', ['--files', files, ...options], environment)
    const said = await untilItRuns(launcher)
    const word = (label) => new RegExp(`${label} +(\\S+)`).exec(said)?.[1]
    issuer = word('Issuer')
    return {
      issuer,
      internalUrl: word('\\(internal').replace(/,$/, ''),
      operatorUrl: word(', operator').replace(/\)$/, ''),
      resourceUrl: word('Resource server'),
      demoUrl: word('Open'),
      username: word('Sign in as'),
      password: word('Password'),
      demoProviderUrl: word('Demo provider,')
    }
  }

  async function stop() {
    launcher.child.kill('SIGTERM')
    const timer = setTimeout(() => launcher.child.kill('SIGKILL'), STOP_TIME_LIMIT_MS)
    issuer = undefined
    const { code, stderr } = await launcher.ended
    clearTimeout(timer)
    if (code !== 0) throw new Error(`The stack ended with ${code}: ${stderr}`)
  }

  async function commandLine(service, args, input = '') {
    const run = program('command-line.mjs', [service, ...args, '--json'], environment)
    run.child.stdin.end(input)
    const { code, stdout, stderr } = await run.ended
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
    return JSON.parse(stdout)
  }

  async function valetkey(args, input) {
    const result = await commandLine('authorization-server', args, input)
    if (issuer !== undefined && args[0] === 'clients' && args[1] === 'create') await untilKnown(issuer, result)
    return result
  }

  return {
    directory,
    start,
    stop,
    valetkey,
    valetkeyFiles: (args) => commandLine('resource-server', args),
    async dispose() {
      if (launcher?.child.exitCode === null) await stop()
      await removeTestDirectory(directory)
    }
  }
}

/** A running process is notified of a new client some milliseconds after the command (ADR 16). */
async function untilKnown(issuer, { client_id, client_secret }) {
  const credentials = client_secret === undefined ? { client_id } : { client_id, client_secret }
  const body = new URLSearchParams({ ...credentials, token: 'unknown' })
  while ((await fetch(`${issuer}/oauth/revoke`, { method: 'POST', body })).status === 401) await wait(20)
}

/** The environment without the caller's settings, as in a new terminal. */
function basics() {
  const names = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'USER']
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
}

/**
 * Seven consecutive ports below the ephemeral range, so that another program is unlikely to take one before the start, or while
 * the stack is stopped.
 */
async function freePorts() {
  const services = [
    'AUTH_PUBLIC',
    'AUTH_INTERNAL',
    'AUTH_OPERATOR',
    'FILES_PUBLIC',
    'FILES_OPERATOR',
    'DEMO',
    'DEMO_PROVIDER'
  ]
  for (;;) {
    const first = 20_000 + Math.floor(Math.random() * 1_700) * services.length
    const listeners = services.map((service, index) => ({
      variable: `${service}_LISTEN`,
      host: service.startsWith('DEMO') ? '127.0.0.1' : 'localhost',
      port: first + index
    }))
    if ((await findPortProblems(listeners)).length > 0) continue
    return Object.fromEntries(listeners.map(({ variable, host, port }) => [variable, `${host}:${port}`]))
  }
}

function program(name, args, environment) {
  const child = spawn(process.execPath, [path.join(bin, name), ...args], { env: environment, stdio: 'pipe' })
  const said = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr']) {
    child[stream].setEncoding('utf8').on('data', (text) => {
      said[stream] += text
    })
  }
  const ended = new Promise((resolve) => child.once('close', (code) => resolve({ code, ...said })))
  return { child, said, ended }
}

function untilItRuns({ child, said, ended }) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGTERM')
      reject(new Error(`The stack was not ready in time: ${said.stdout}${said.stderr}`))
    }, START_TIME_LIMIT_MS)
    child.stdout.on('data', () => {
      // The last paragraph of the start message.
      if (!said.stdout.includes('Stop it')) return
      clearTimeout(timer)
      resolve(said.stdout)
    })
    ended.then(({ stderr }) => {
      clearTimeout(timer)
      reject(new Error(`The stack did not start: ${stderr}`))
    })
  })
}
