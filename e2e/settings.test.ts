import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'

const KEY = 'a-key-of-at-least-thirty-two-characters'
const common = { ISSUER: 'http://localhost:4000', RESOURCE_URL: 'http://localhost:4100' }

// Nobody listens where these point, so a service that went on in spite of a bad setting would end in other words.
const authorizationServer = {
  ...common,
  DATABASE_URL: 'postgres://valetkey:secret-one@127.0.0.1:9/valetkey',
  REDIS_URL: 'redis://127.0.0.1:9',
  COOKIE_KEYS: KEY
}
const resourceServer = {
  ...common,
  RESOURCE_DATABASE_URL: 'postgres://valetkey:secret-two@127.0.0.1:9/files',
  PAGE_TOKEN_KEYS: KEY,
  INTROSPECTION_URL: 'http://127.0.0.1:9/introspect',
  INTROSPECTION_CLIENT_ID: 'files',
  INTROSPECTION_CLIENT_SECRET: 'secret-three'
}

type Row = [string, string, Record<string, string>, Record<string, string>, readonly string[]]
const rows: Row[] = [
  ['no setting at all', 'authorization-server', {}, {}, Object.keys(authorizationServer)],
  ['a missing variable', 'authorization-server', authorizationServer, { COOKIE_KEYS: '' }, ['COOKIE_KEYS']],
  ['a malformed URL', 'authorization-server', authorizationServer, { ISSUER: 'localhost 4000' }, ['ISSUER']],
  [
    'two mistakes at once',
    'authorization-server',
    authorizationServer,
    { DATABASE_URL: 'secret-four', CODE_TTL: '30' },
    ['DATABASE_URL', 'CODE_TTL']
  ],
  ['no setting at all', 'resource-server', {}, {}, Object.keys(resourceServer)],
  ['a missing variable', 'resource-server', resourceServer, { INTROSPECTION_URL: '' }, ['INTROSPECTION_URL']],
  ['a malformed URL', 'resource-server', resourceServer, { RESOURCE_URL: 'files.example' }, ['RESOURCE_URL']],
  [
    'a cache without the feed it needs',
    'resource-server',
    resourceServer,
    { INTROSPECTION_CACHE_TTL: '60' },
    ['REVOCATIONS_URL']
  ]
]

test.each(rows)('%s stops the %s with one line for each variable', async (_case, service, settings, change, names) => {
  const { code, stdout, stderr } = await run(service, { ...settings, ...change })
  expect(code).toBe(1)
  const lines = stderr.trimEnd().split('\n')
  expect(lines.map((line) => line.split(': ')[0]).sort()).toEqual([...names].sort())
  expect(stdout + stderr).not.toMatch(/secret-|thirty-two/)
})

/** A service by itself, with these settings and nothing else from here. */
function run(service: string, settings: Record<string, string>) {
  const main = fileURLToPath(new URL(`../services/${service}/dist/main.js`, import.meta.url))
  const child = spawn(process.execPath, [main], { env: settings, stdio: 'pipe', timeout: 20_000 })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  )
}
