import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { checks } from '../src/checks/checks.js'
import { HELP, runCommand } from '../src/command.js'
import { APP } from './support/broken-apps.js'
import { startBrokenServer } from './support/broken-server.js'

const directory = mkdtempSync(path.join(tmpdir(), 'conformance-'))
const FAST = ['--rate', '1000', '--timeout', '20']
let server: Awaited<ReturnType<typeof startBrokenServer>>

beforeAll(async () => {
  server = await startBrokenServer()
})
afterAll(async () => {
  await server.close()
  rmSync(directory, { recursive: true, force: true })
})

function writeFile(name: string, content: string | object): string {
  const file = path.join(directory, name)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

/** Runs the command. `answer` is what the user types after each question. */
async function run(args: readonly string[], answer?: (question: string) => Promise<string>) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const said = { stdout: '', stderr: '' }
  stdout.on('data', (text) => {
    said.stdout += text
  })
  let asked = ''
  stderr.on('data', (text) => {
    said.stderr += text
    asked += text
    if (answer === undefined || !asked.includes('Then paste')) return
    const question = asked
    asked = ''
    answer(question).then((line) => stdin.write(`${line}\n`))
  })
  const code = await runCommand(args, { stdin, stdout, stderr })
  return { code, ...said }
}

const clientFile = () =>
  writeFile('client.json', { client_id: APP.id, client_secret: APP.secret, redirect_uri: APP.redirectUri })

test('--help prints the options', async () => {
  expect(await run(['--help'])).toEqual({ code: 0, stdout: HELP, stderr: '' })
})

test('--list prints the checks of the profile', async () => {
  const { stdout } = await run(['--list', '--profile', 'mcp'])
  const listed = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t')[0])
  expect(listed).toEqual(checks.filter(({ profiles }) => profiles.includes('mcp')).map(({ id }) => id))
})

describe('wrong usage is exit code 2 with one line', () => {
  test.each([
    { args: [], says: 'give one URL' },
    { args: ['no-url'], says: 'the issuer is not a URL' },
    { args: ['http://as.example'], says: 'neither https nor http on loopback' },
    { args: ['https://as.example'], says: '--yes-this-is-mine' },
    { args: ['http://127.0.0.1:1', '--allow-host', 'as.example'], says: '--yes-this-is-mine' },
    { args: ['https://user:secret@127.0.0.1'], says: 'must have no user' },
    {
      args: ['http://127.0.0.1:1', '--profile', 'x'],
      says: '--profile must be one of oauth2.1, bcp, mcp, fapi2, valetkey'
    },
    { args: ['http://127.0.0.1:1', '--format', 'x'], says: '--format must be one of tap, junit, json' },
    { args: ['http://127.0.0.1:1', '--rate', '0'], says: '--rate must be a number up to 1000' },
    { args: ['http://127.0.0.1:1', '--timeout', 'x'], says: '--timeout must be a number up to 300' },
    { args: ['http://127.0.0.1:1', '--only', 'x'], says: 'no such check: x' },
    { args: ['http://127.0.0.1:1', '--unknown'], says: "Unknown option '--unknown'" },
    { args: ['http://127.0.0.1:1', '--endpoint', 'http://127.0.0.1:1/'], says: '--endpoint needs --resource' },
    { args: ['http://127.0.0.1:1', '--client', '/does/not/exist'], says: 'cannot read /does/not/exist' },
    { args: ['http://127.0.0.1:1', '--expected-failures', '/does/not/exist'], says: 'ENOENT' }
  ])('$args', async ({ args, says }) => {
    const { code, stdout, stderr } = await run(args)
    expect({ code, stdout, lines: stderr.trimEnd().split('\n').length }).toEqual({ code: 2, stdout: '', lines: 1 })
    expect(stderr).toContain(says)
  })
})

test('a server without metadata is exit code 2, with both places', async () => {
  const { code, stderr } = await run([`${server.issuer}/nothing`, ...FAST])
  expect(code).toBe(2)
  expect(stderr).toContain(`${server.issuer}/.well-known/oauth-authorization-server/nothing: status 404`)
  expect(stderr).toContain(`${server.issuer}/nothing/.well-known/openid-configuration: status 404`)
})

test('a loop of redirects cannot be tested: exit code 2', async () => {
  const loop = createServer((request, response) => {
    const issuer = `http://${request.headers.host}`
    if (request.url !== '/.well-known/oauth-authorization-server')
      return response.writeHead(302, { location: '/' }).end()
    const metadata = { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` }
    return response.end(JSON.stringify(metadata))
  })
  await new Promise<void>((resolve) => loop.listen(0, '127.0.0.1', resolve))
  try {
    const issuer = `http://127.0.0.1:${(loop.address() as AddressInfo).port}`
    const { code, stdout } = await run([issuer, '--only', 'authorize-unknown-client', ...FAST])
    expect(code).toBe(2)
    expect(stdout).toContain('redirects more than 5 times')
  } finally {
    loop.closeAllConnections()
    loop.close()
  }
})

test('an endpoint on another host is not called', async () => {
  const elsewhere = createServer((request, response) => {
    const issuer = `http://${request.headers.host}`
    const metadata = { issuer, authorization_endpoint: `${issuer}/a`, token_endpoint: 'https://stranger.invalid/token' }
    response.end(JSON.stringify(metadata))
  })
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve))
  try {
    const issuer = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`
    const { code, stdout } = await run([issuer, '--only', 'token-invalid-client', ...FAST])
    expect(code).toBe(2)
    expect(stdout).toContain('did not call https://stranger.invalid/token')
  } finally {
    elsewhere.closeAllConnections()
    elsewhere.close()
  }
})

test('--timeout takes a fraction of a second', async () => {
  // 16.1 * 1000 is no whole number.
  const { code } = await run([server.issuer, '--only', 'metadata-issuer', '--timeout', '16.1'])
  expect(code).toBe(0)
})

test('--skip leaves out a check, --only chooses checks', async () => {
  const only = ['metadata-issuer', 'metadata-pkce'].flatMap((id) => ['--only', id])
  const { code, stdout } = await run([server.issuer, ...only, '--skip', 'metadata-pkce', ...FAST])
  expect(code).toBe(0)
  expect(stdout).toContain('1..1\n')
  expect(stdout).toContain('ok 1 - metadata-issuer: ')
})

test('--sign-in SCRIPT runs the program with the URL, and takes its last line', async () => {
  const visit = "fetch(process.argv[1], { redirect: 'manual' }).then((r) => console.log(r.headers.get('location')))"
  const lines = ['#!/bin/sh', 'echo progress', `url=$(echo "$1" | sed 's|/authorize|/allow|')`]
  const script = writeFile('sign-in.sh', [...lines, `exec "${process.execPath}" -e "${visit}" "$url"`, ''].join('\n'))
  chmodSync(script, 0o700)
  const args = ['--client', clientFile(), '--sign-in', script, '--only', 'code-state']
  expect(await run([server.issuer, ...args, ...FAST])).toMatchObject({ code: 0, stderr: '' })
})

test.each([
  { name: 'fails', content: 'process.exit(1)', says: 'the sign-in script ended with 1' },
  { name: 'prints no URL', content: 'console.log("hello")', says: 'the last line of the sign-in script is not a URL' },
  {
    name: 'says that an error page is shown',
    content: 'process.exit(3)',
    says: 'refused a valid authorization request'
  }
])('a sign-in script that $name: exit code 2', async ({ content, says }) => {
  const script = writeFile('sign-in.mjs', content)
  const args = ['--client', clientFile(), '--sign-in', script, '--only', 'code-state']
  const { code, stdout } = await run([server.issuer, ...args, ...FAST])
  expect(code).toBe(2)
  expect(stdout).toContain(says)
})

test('a sign-in script that leaves a program running, such as a browser, does not hold up the run', async () => {
  const file = path.join(directory, 'left-running')
  const url = `${APP.redirectUri}?error=access_denied`
  const lines = ['#!/bin/sh', 'sleep 60 &', `echo $! > "${file}"`, `echo "${url}"`, '']
  const script = writeFile('leaves-one.sh', lines.join('\n'))
  chmodSync(script, 0o700)
  const args = ['--client', clientFile(), '--sign-in', script, '--only', 'code-state']
  try {
    expect((await run([server.issuer, ...args, ...FAST])).stdout).toContain('issued no code (error: access_denied)')
  } finally {
    process.kill(Number(readFileSync(file, 'utf8')))
  }
})

test('--sign-in manual asks for the URL of the redirect', async () => {
  const args = ['--client', clientFile(), '--sign-in', 'manual', '--only', 'code-state']
  const { code, stderr } = await run([server.issuer, ...args, ...FAST], async (question) => {
    const url = /http\S+authorize\?\S+/.exec(question)?.[0] ?? ''
    const response = await fetch(url.replace('/authorize?', '/allow?'), { redirect: 'manual' })
    return response.headers.get('location') ?? ''
  })
  expect(code).toBe(0)
  expect(stderr).toContain('Open this URL, sign in and allow access')
})

test('--sign-in manual without input ends: exit code 2', async () => {
  const program = path.join(import.meta.dirname, '../dist/main.js')
  const args = [
    '--client',
    clientFile(),
    '--sign-in',
    'manual',
    '--only',
    'code-state',
    '--only',
    'code-wrong-verifier'
  ]
  const child = spawn(process.execPath, [program, server.issuer, ...args, ...FAST], { stdio: 'ignore' })
  expect(await new Promise((resolve) => child.once('close', resolve))).toBe(2)
})

test('the built program ends with the exit code', async () => {
  const program = path.join(import.meta.dirname, '../dist/main.js')
  const child = spawn(process.execPath, [program, server.issuer, '--only', 'metadata-issuer'], { stdio: 'ignore' })
  expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0)
})
