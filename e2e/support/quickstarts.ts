import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from '@jest/globals'
import { simulateUser } from '../../packages/dev-stack/lib/client/user.mjs'
import { freePort } from '../../packages/dev-stack/lib/processes/ports.mjs'
import type { Addresses, Stack } from '../system/stack.mjs'
import { code, read, root, rowsBelow } from './documents.js'
import { knownFiles } from './known-files.js'

const folder = path.join(root, 'examples/quickstarts')
/** The programs of the page, each with its file and its command. */
const programs = rowsBelow(read('docs/connect-an-app.md'), '## Run it').map(([, file, , command]) => ({
  file: code(file)[0] ?? '',
  command: code(command)[0] ?? ''
}))

export type RunningProgram = {
  /** The address that the user opens. */
  address: string
  type(line: string): void
  /** Everything that the program has printed, after it has ended. */
  ended: Promise<{ code: number | null; output: string }>
}

const running = new Set<ChildProcess>()

/** Ends all quickstarts that still run. */
export async function endQuickstarts(): Promise<void> {
  await Promise.all(
    [...running].map((child) => {
      const closed = once(child, 'close')
      // The group, because `go run` does not pass signals on.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
      return closed
    })
  )
}

/** Registers a client with the command of the page and these options. */
export async function registerQuickstart(stack: Stack, redirectUri: string, ...options: string[]) {
  const basis = ['clients', 'create', '--name', 'My App', '--redirect-uri', redirectUri, '--scope', 'files.read']
  const { client_id: clientId = '', client_secret: secret } = await stack.valetkey([...basis, ...options])
  return { CLIENT_ID: clientId, ...(secret !== undefined && { CLIENT_SECRET: secret }) }
}

/** Runs a program of the page, with the page's command and settings, until it names the address to open. */
export async function runQuickstart(
  file: string,
  at: Addresses,
  client: Record<string, string>
): Promise<RunningProgram> {
  const command = programs.find((program) => program.file === file)?.command
  if (command === undefined) throw new Error(`The page has no command for ${file}`)
  const port = await freePort()
  const settings = { ISSUER: at.issuer, RESOURCE_URL: at.resourceUrl, PORT: String(port), ...client }
  const child = spawn('sh', ['-c', command], { cwd: folder, env: { ...environment(), ...settings }, detached: true })
  running.add(child)
  let output = ''
  const ended = new Promise<{ code: number | null; output: string }>((resolve) =>
    child.once('close', (code) => {
      running.delete(child)
      resolve({ code, output })
    })
  )
  const address = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
        const [line] = /http:\/\/[^\s)]+(?=[\s)])/.exec(output) ?? []
        if (line !== undefined) resolve(line)
      })
    }
    ended.then(() => reject(new Error(`${command} ended: ${output}`)))
  })
  return {
    address,
    type: (line) => child.stdin.write(`${line}\n`),
    ended
  }
}

/** Some programs print the address before they listen. */
async function untilListening(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await new Promise<boolean>((resolve) =>
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    )
    socket.destroy()
    if (isOpen) return
    await wait(20)
  }
}

/** The environment of a new terminal. Its `PATH` starts with the folders of this Node and of a Python that has the library. */
function environment(): NodeJS.ProcessEnv {
  const { HOME, LANG, PATH, TEST_PYTHON, TMPDIR } = process.env
  const first = [process.execPath, ...(TEST_PYTHON === undefined ? [] : [TEST_PYTHON])].map(path.dirname)
  return { HOME, LANG, TMPDIR, PATH: [...first, PATH].join(path.delimiter) }
}

/** A user signs in at the web app and sees the files. Another browser, another issuer and Deny do not lead there. */
export async function expectFilesAtWebApp(
  file: string,
  stack: Stack,
  at: Addresses,
  { options, settings }: { options: readonly string[]; settings: Record<string, string> } = {
    options: [],
    settings: {}
  }
): Promise<void> {
  const client = await registerQuickstart(stack, 'http://127.0.0.1:4280/callback', ...options)
  const program = await runQuickstart(file, at, { ...client, ...settings })
  const names = knownFiles.map(({ name }) => name)
  const { callback, cookie } = await signInAt(program, at, 'allow')
  expect(cookie).toMatch(/^sign_in_[\w-]{30,}=[\w-]{43,}$/)
  const ofAnotherServer = new URL(callback)
  ofAnotherServer.searchParams.set('iss', 'https://evil.example')
  const denied = await signInAt(program, at, 'deny')
  for (const [url, sent] of [
    [callback, ''],
    [callback, denied.cookie],
    [ofAnotherServer, cookie],
    [denied.callback, denied.cookie]
  ] as const) {
    const { status, body } = await open(url, sent)
    expect(status).toBeGreaterThanOrEqual(400)
    for (const name of names) expect(body).not.toContain(name)
  }
  const { status, body, type } = await open(callback, cookie)
  expect([status, type]).toEqual([200, 'text/plain; charset=utf-8'])
  expect(body.trimEnd().split('\n').sort()).toEqual(names.sort())
}

/** Opens a new connection for each request, because the programs close idle connections. */
async function open(url: URL, cookie = '') {
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    get(url, { agent: false, headers: { cookie } }, resolve).once('error', reject)
  )
  const body = await text(response)
  const { 'content-type': type = '', location = '', 'set-cookie': cookies = [] } = response.headers
  return { status: response.statusCode, type: type.toLowerCase(), location, cookies, body }
}

/** Follows the redirects of a web app as a browser does, up to its redirect URI. */
async function signInAt(program: RunningProgram, at: Addresses, decision: 'allow' | 'deny') {
  const start = new URL('/sign-in', program.address)
  await untilListening(Number(start.port))
  const { location, cookies } = await open(start)
  const callback = await simulateUser(at.issuer, at).decide(new URL(location), decision)
  return { callback, cookie: cookies[0]?.split(';')[0] ?? '' }
}
