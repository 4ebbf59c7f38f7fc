import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { startForeignServer } from './support/foreign-server.mjs'
import { makeKnownFiles } from './support/known-files.js'
import { type Addresses, createStack, type Stack } from './system/stack.mjs'

const program = fileURLToPath(new URL('../packages/conformance/dist/main.js', import.meta.url))
const signIn = fileURLToPath(new URL('../examples/conformance/sign-in.mjs', import.meta.url))
const directory = mkdtempSync(path.join(tmpdir(), 'conformance-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

type Document = { results: { id: string; status: string; message: string; exchanges: object[] }[] }

/** Runs the command as its users do. */
async function run(issuer: string, args: readonly string[], environment: Record<string, string> = {}) {
  const all = [program, issuer, '--rate', '200', '--timeout', '60', '--format', 'json', ...args]
  const child = spawn(process.execPath, all, { env: { ...process.env, ...environment } })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
    })
  }
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (said.stdout === '') throw new Error(said.stderr)
  const { results } = JSON.parse(said.stdout) as Document
  const others = results.filter(({ status }) => status !== 'passed')
  return {
    code,
    output: said.stdout,
    passed: results.length - others.length,
    others: Object.fromEntries(others.map(({ id, status, message }) => [id, `${status}: ${message}`]))
  }
}

function writeFile(name: string, content: string): string {
  const file = path.join(directory, name)
  writeFileSync(file, content)
  return file
}

describe('Valetkey', () => {
  const REDIRECT_URI = 'http://127.0.0.1:8765/callback'
  const files = makeKnownFiles()
  let stack: Stack
  let at: Addresses

  beforeAll(async () => {
    stack = await createStack({ files: files.directory, environment: { CLIENT_ID_METADATA: 'open', DPOP: 'allowed' } })
    at = await stack.start()
    const { resource_servers: servers } = await stack.valetkey<{ resource_servers: { client_id: string }[] }>([
      'resource-servers',
      'list'
    ])
    await stack.valetkey(['resource-servers', 'update', servers[0]?.client_id ?? '', '--dpop', 'allowed'])
  })

  afterAll(async () => {
    await stack?.dispose()
    files.remove()
  })

  async function register(...options: string[]) {
    const basis = ['clients', 'create', '--name', 'Checks', '--redirect-uri', REDIRECT_URI, '--scope', 'files.read']
    const { client_id, client_secret } = await stack.valetkey([...basis, ...options])
    return { client_id, client_secret, redirect_uri: REDIRECT_URI, scope: 'files.read' }
  }

  async function runWith(profile: string, client: { client_secret?: string | undefined }) {
    const document = JSON.stringify({ ...client, other_client: await register() })
    const user = { SIGN_IN_USERNAME: at.username, SIGN_IN_PASSWORD: at.password }
    const api = ['--resource', at.resourceUrl, '--endpoint', `${at.resourceUrl}/v1/files`]
    const file = writeFile(`${profile}.json`, document)
    return run(at.issuer, ['--profile', profile, '--client', file, '--sign-in', signIn, ...api], user)
  }

  /** Both concurrently, because signing in takes most of their time. */
  let results: Promise<{ own: Awaited<ReturnType<typeof run>>; mcp: Awaited<ReturnType<typeof run>>; secret: string }>

  beforeAll(async () => {
    const client = await register()
    const [own, mcp] = await Promise.all([runWith('valetkey', client), runWith('mcp', await register('--public'))])
    results = Promise.resolve({ own, mcp, secret: client.client_secret ?? '' })
  })

  test('passes every check of its own profile, with a confidential client', async () => {
    const { own } = await results
    const ofPublicClients = ['authorize-pkce-required', 'dpop-refresh-key', 'dpop-refresh-proof']
    const skipped = ofPublicClients.map((id) => [id, 'skipped: concerns public clients'])
    expect(own.others).toEqual(Object.fromEntries(skipped))
    expect(own.code).toBe(0)
    expect(own.passed).toBeGreaterThan(65)
  })

  test('passes every check of the profile mcp, with a public client', async () => {
    const { mcp } = await results
    const withSecret = ['token-wrong-secret', 'token-missing-secret']
    const skipped = withSecret.map((id) => [id, 'skipped: needs a client with client_secret'])
    expect(mcp.others).toEqual(Object.fromEntries(skipped))
    expect(mcp.code).toBe(0)
    expect(mcp.passed).toBeGreaterThan(50)
  })

  test('a report has no secret, code or token', async () => {
    const { own, mcp, secret } = await results
    for (const { output } of [own, mcp]) {
      expect(output).toContain('[redacted]')
      expect(output).not.toContain(secret)
      expect(output.match(/vk_(ac|at|rt|cs)_\w+/g)).toBeNull()
    }
  })
})

describe('oidc-provider', () => {
  const RESOURCE = 'https://reports.example'
  const client = { id: 'printer', secret: 'printer-secret', redirectUri: 'https://printer.example/callback' }
  const printer = { client_id: client.id, client_secret: client.secret, redirect_uri: client.redirectUri }
  const own = { client_id: 'album', redirect_uri: 'https://album.example/callback', scope: 'reports.read' }
  const other = { client_id: 'frame', redirect_uri: 'https://frame.example/callback' }
  let server: Awaited<ReturnType<typeof startForeignServer>>

  beforeAll(async () => {
    jest.spyOn(console, 'warn').mockImplementation(() => {})
    jest.spyOn(console, 'info').mockImplementation(() => {})
    server = await startForeignServer({
      client,
      api: { id: 'reports api', secret: 'a secret' },
      scopesOf: { [RESOURCE]: 'reports.read' },
      moreClients: [own, other].map(({ client_id, redirect_uri }) => ({
        client_id,
        redirect_uris: [redirect_uri],
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token']
      }))
    })
  })
  afterAll(async () => server?.close())

  /** Its API is on a host that does not exist; no check of these profiles calls it. */
  function runWith(document: object, ...args: string[]) {
    const file = writeFile('foreign.json', JSON.stringify(document))
    const api = ['--resource', RESOURCE, '--yes-this-is-mine']
    return run(server.issuer, ['--client', file, '--sign-in', signIn, ...api, ...args])
  }

  /** Without what is skipped: this server shows no page, and its clients differ in what they have. */
  function failuresOf(others: Record<string, string>) {
    return Object.fromEntries(Object.entries(others).filter(([, text]) => !text.startsWith('skipped: ')))
  }

  test('passes the checks of OAuth 2.1 with a public client', async () => {
    const { code, others } = await runWith({ ...own, other_client: other })
    expect(failuresOf(others)).toEqual({})
    expect(others).not.toHaveProperty('refresh-reuse-ends-grant')
    expect(code).toBe(0)
  })

  test('passes the checks of RFC 9700 with a confidential client, but for an expected failure', async () => {
    const expected = writeFile('expected.txt', 'token-unknown-refresh-token # it is not registered for refresh\n')
    const args = ['--profile', 'bcp', '--expected-failures', expected]
    const { code, others } = await runWith({ ...printer, scope: 'reports.read', other_client: own }, ...args)
    expect(failuresOf(others)).toEqual({ 'token-unknown-refresh-token': expect.stringMatching(/^expected: /) })
    expect(code).toBe(0)
  })
})
