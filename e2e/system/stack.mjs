// Starts all of Valetkey with `npm start`.
import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findPortProblems } from '../../packages/dev-stack/lib/processes/ports.mjs'
import { removeTestDirectory } from '../../packages/dev-stack/lib/tests/test-directory.mjs'

/** @typedef {Awaited<ReturnType<typeof createStack>>} Stack */
/**
 * @typedef {object} Addresses the values that `npm start` prints when everything runs
 * @property {string} issuer
 * @property {string} internalUrl
 * @property {string} operatorUrl
 * @property {string} resourceUrl
 * @property {string} demoUrl
 * @property {string} username
 * @property {string} password
 * @property {string} [demoProviderUrl] undefined unless the stack has the demo provider
 */
/** @typedef {ReturnType<typeof program>} Program */

const bin = fileURLToPath(new URL('../../packages/dev-stack/bin', import.meta.url))
// These only end a hang.
const START_TIME_LIMIT_MS = 150_000
const STOP_TIME_LIMIT_MS = 120_000

/**
 * A stack with its own folder and ports.
 * @param {object} options
 * @param {string} options.files
 * @param {Record<string, string>} [options.environment] additional variables for `npm start`
 * @param {boolean} [options.demoProvider] off by default: most tests are about the sign-in form alone
 */
export async function createStack({ files, environment: settings = {}, demoProvider = false }) {
  const directory = mkdtempSync(path.join(tmpdir(), 'valetkey-e2e-'))
  const ports = await freePorts()
  const environment = { ...basics(), ...ports, VALETKEY_DATA: path.join(directory, 'data'), ...settings }
  /** @type {Program | undefined} */
  let launcher
  /** @type {string | undefined} */
  let issuer

  /** Runs `npm start -- --files …` until it is ready. @returns {Promise<Addresses>} */
  async function start() {
    const options = demoProvider ? [] : ['--no-demo-provider']
    launcher = program('start.mjs', ['--files', files, ...options], environment)
    const said = await untilItRuns(launcher)
    /** @param {string} label */
    const find = (label) => new RegExp(`${label} +(\\S+)`).exec(said)?.[1]
    /** @param {string} label */
    const word = (label) => find(label) ?? ''
    const demoProviderUrl = find('Demo provider,')
    issuer = word('Issuer')
    return {
      issuer,
      internalUrl: word('\\(internal').replace(/,$/, ''),
      operatorUrl: word(', operator').replace(/\)$/, ''),
      resourceUrl: word('Resource server'),
      demoUrl: word('Open'),
      username: word('Sign in as'),
      password: word('Password'),
      ...(demoProviderUrl !== undefined && { demoProviderUrl })
    }
  }

  /** Sends Ctrl-C; rejects unless the stop is orderly. */
  async function stop() {
    if (launcher === undefined) return
    const { child, ended } = launcher
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIME_LIMIT_MS)
    issuer = undefined
    const { code, stderr } = await ended
    clearTimeout(timer)
    if (code !== 0) throw new Error(`The stack ended with ${code}: ${stderr}`)
  }

  /**
   * @param {string} service
   * @param {readonly string[]} args
   * @param {string} [input]
   * @returns {Promise<any>}
   */
  async function commandLine(service, args, input = '') {
    const run = program('command-line.mjs', [service, ...args, '--json'], environment)
    run.child.stdin.end(input)
    const { code, stdout, stderr } = await run.ended
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
    return JSON.parse(stdout)
  }

  /**
   * Runs `./valetkey … --json` and returns its JSON. Rejects with the message of the command.
   * @template [Document=Record<string, string>]
   * @param {readonly string[]} args
   * @param {string} [input]
   * @returns {Promise<Document>}
   */
  async function valetkey(args, input) {
    const result = await commandLine('authorization-server', args, input)
    if (issuer !== undefined && args[0] === 'clients' && args[1] === 'create') await untilKnown(issuer, result)
    return result
  }

  return {
    /** The folder of the stack, with the data of `npm start` in `data`. */
    directory,
    start,
    stop,
    valetkey,
    /** @template [Document=Record<string, number>] @param {readonly string[]} args @returns {Promise<Document>} */
    valetkeyFiles: (args) => commandLine('resource-server', args),
    /** Stops the stack if it runs, and removes its data. */
    async dispose() {
      if (launcher?.child.exitCode === null) await stop()
      await removeTestDirectory(directory)
    }
  }
}

/**
 * A running process is notified of a new client some milliseconds after the command (ADR 16).
 * @param {string} issuer
 * @param {{ client_id: string, client_secret?: string }} client
 */
async function untilKnown(issuer, { client_id, client_secret }) {
  const credentials = client_secret === undefined ? { client_id } : { client_id, client_secret }
  const body = new URLSearchParams({ ...credentials, token: 'unknown' })
  while ((await fetch(`${issuer}/oauth/revoke`, { method: 'POST', body })).status === 401) await wait(20)
}

/**
 * The environment without the caller's settings, as in a new terminal.
 * @returns {NodeJS.ProcessEnv}
 */
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
      what: service,
      host: service.startsWith('DEMO') ? '127.0.0.1' : 'localhost',
      port: first + index
    }))
    if ((await findPortProblems(listeners)).length > 0) continue
    return Object.fromEntries(listeners.map(({ variable, host, port }) => [variable, `${host}:${port}`]))
  }
}

/**
 * @param {string} name
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} environment
 */
function program(name, args, environment) {
  const child = spawn(process.execPath, [path.join(bin, name), ...args], { env: environment, stdio: 'pipe' })
  const said = { stdout: '', stderr: '' }
  for (const name of /** @type {const} */ (['stdout', 'stderr'])) {
    child[name].setEncoding('utf8').on('data', (text) => {
      said[name] += text
    })
  }
  /** @type {Promise<typeof said & { code: number | null }>} */
  const ended = new Promise((resolve) => child.once('close', (code) => resolve({ code, ...said })))
  return { child, said, ended }
}

/**
 * @param {Program} program
 * @returns {Promise<string>}
 */
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
