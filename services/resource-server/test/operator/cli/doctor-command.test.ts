import { spawn } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openFileStore } from '../../support/stored-files.js'

const MAIN = path.resolve(import.meta.dirname, '../../../dist/operator/cli/main.js')
const SECRET = 'a-secret-of-at-least-thirty-two-characters'
const CREDENTIAL = `Basic ${Buffer.from(`files:${SECRET}`).toString('base64')}`

let store: Awaited<ReturnType<typeof openFileStore>>
/** An introspection endpoint without tokens and with one credential. */
let endpoint: Server
beforeAll(async () => {
  store = await openFileStore()
  endpoint = createServer((request, response) => {
    const status = request.headers.authorization === CREDENTIAL ? 200 : 401
    response.writeHead(status, { 'content-type': 'application/json' }).end('{"active":false}')
  })
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  endpoint.closeAllConnections()
  await new Promise((resolve) => endpoint.close(resolve))
  await store.close()
})

/** Runs `valetkey-files doctor --json` with only these settings in its environment. */
async function doctor(change: Record<string, string> = {}) {
  const environment = {
    ISSUER: 'http://localhost:4000',
    RESOURCE_URL: 'http://localhost:4100',
    RESOURCE_DATABASE_URL: store.url,
    PAGE_TOKEN_KEYS: 'a-key-for-tests-of-at-least-32-characters',
    INTROSPECTION_URL: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/introspect`,
    INTROSPECTION_CLIENT_ID: 'files',
    INTROSPECTION_CLIENT_SECRET: SECRET,
    ...change
  }
  const child = spawn(process.execPath, [MAIN, 'doctor', '--json'], { env: environment })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  const { findings } = JSON.parse(out) as { findings: { check: string; severity: string }[] }
  return { code, out, found: new Map(findings.map(({ check, severity }) => [check, severity])) }
}

test('working settings are ok, and the exit code is 0', async () => {
  const { code, found } = await doctor()
  const checks = ['ISSUER', 'PAGE_TOKEN_KEYS', 'postgres', 'postgres clock', 'migrations', 'introspection']
  expect(checks.map((check) => found.get(check))).toEqual(checks.map(() => 'ok'))
  expect(code).toBe(0)
})

test('an unknown credential is fatal for introspection only, and no secret is printed', async () => {
  const { code, out, found } = await doctor({ INTROSPECTION_CLIENT_SECRET: 'hush' })
  expect([code, found.get('introspection'), found.get('postgres')]).toEqual([1, 'fatal', 'ok'])
  expect(found.get('INTROSPECTION_CLIENT_SECRET')).toBe('warning')
  expect(out).not.toContain('hush')
})

test('a database without migrations is fatal, and so is an unreachable one', async () => {
  const empty = new URL(store.url)
  empty.pathname = '/postgres'
  expect((await doctor({ RESOURCE_DATABASE_URL: empty.href })).found.get('migrations')).toBe('fatal')
  const unreachable = await doctor({ RESOURCE_DATABASE_URL: 'postgres://u:hush@127.0.0.1:9/files' })
  expect([unreachable.found.get('postgres'), unreachable.code]).toEqual(['fatal', 1])
  expect(unreachable.out).not.toContain('hush')
})

test('in production, an internal URL without TLS is a warning and a public one is fatal', async () => {
  const { found } = await doctor({
    ISSUER: 'https://auth.example',
    RESOURCE_URL: 'http://files.example',
    INTROSPECTION_URL: 'http://auth.invalid:4001/introspect'
  })
  expect([found.get('RESOURCE_URL'), found.get('INTROSPECTION_URL')]).toEqual(['fatal', 'warning'])
})
