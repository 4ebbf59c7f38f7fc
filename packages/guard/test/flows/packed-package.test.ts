import { execFile, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expiryBucket, newOpaqueAccessToken } from '@valetkey/oauth-protocol'
import { WebSocket } from 'ws'
import { json, raw, startFakeEndpoint } from '../fake-introspection-endpoint.js'
import { type CompilerVersion, installPacked, startStranger } from '../packed/install.js'
import { programOf } from '../packed/local-registry.mjs'
import { EXAMPLES, README, writeExamples } from '../packed/readme-examples.js'

const run = promisify(execFile)
const live = { active: true, aud: 'https://reports.example', scope: 'reports.read', sub: 'alice-id' }

let installed: Awaited<ReturnType<typeof installPacked>>
let endpoint: Awaited<ReturnType<typeof startFakeEndpoint>>

beforeAll(async () => {
  endpoint = await startFakeEndpoint()
  installed = await installPacked()
  writeExamples(installed.project, new URL(endpoint.url).origin)
  const emit = ['--noEmit', 'false', '--rootDir', '.', '--outDir', 'out']
  await installed.compile('7', 'tsconfig.nodenext.json', ...emit)
})
afterAll(async () => {
  installed?.dispose()
  await endpoint?.close()
})

test('the tarball has the entries, shared code, types, source maps, README, changelog and licence only', () => {
  const files = execFileSync('tar', ['-tzf', installed.tarball], { encoding: 'utf8' }).trim().split('\n').sort()
  const isDeclaration = (file: string) => /^package\/dist\/(?:[a-z-]+\/)*[a-z\d-]+\.d\.ts$/.test(file)
  const isShared = (file: string) => /^package\/dist\/shared\/[A-Z0-9]+\.js(?:\.map)?$/.test(file)
  expect(files).toContain('package/dist/index.d.ts')
  expect(files.filter((file) => !isDeclaration(file) && !isShared(file))).toEqual([
    'package/CHANGELOG.md',
    'package/LICENSE',
    'package/NOTICE',
    'package/README.md',
    ...['fastify/index', 'index', 'mcp', 'node', 'web'].flatMap((name) => [
      `package/dist/${name}.js`,
      `package/dist/${name}.js.map`
    ]),
    'package/package.json'
  ])
})

test('the manifest requires three packages, makes Fastify optional, and does not mention the workspace', () => {
  const text = readFileSync(packedFile('package.json'), 'utf8')
  expect(text).not.toMatch(/workspace:|oauth-protocol|"private"|"scripts"|"devDependencies"/)
  expect(JSON.parse(text)).toMatchObject({
    type: 'module',
    license: 'Apache-2.0',
    engines: { node: '>=20.19' },
    sideEffects: false,
    dependencies: { 'fastify-plugin': expect.stringMatching(/^\^/), undici: expect.stringMatching(/^\^/) },
    peerDependencies: { fastify: '5.x' },
    peerDependenciesMeta: { fastify: { optional: true } }
  })
  expect(Object.keys(JSON.parse(text).dependencies)).toEqual(['fastify-plugin', 'undici', 'jose'])
})

test('the source maps name files by their path in this repository, and contain their text', () => {
  const { sources, sourcesContent } = JSON.parse(readFileSync(packedFile('dist/fastify/index.js.map'), 'utf8'))
  expect(sources).toContain('guard/src/fastify/bearer-plugin.ts')
  expect(sources.every((source: string) => /^(guard|oauth-protocol)\/src\/[a-z0-9/-]+\.ts$/.test(source))).toBe(true)
  expect(sourcesContent).toHaveLength(sources.length)
})

test('installed alone, all entries but ./fastify can be imported and required, and no framework is there', () => {
  const names = ['guard', 'guard/node', 'guard/web', 'guard/mcp'].map((name) => `@valetkey/${name}`)
  const program = `for (const name of ${JSON.stringify(names)}) {
    require(name)
    import(name).then((module) => console.log(Object.keys(module).length > 0))
  }`
  const options = { cwd: installed.alone, encoding: 'utf8' } as const
  expect(execFileSync(process.execPath, ['--eval', program], options)).toBe('true\n'.repeat(names.length))
  const packages = readdirSync(path.join(installed.alone, 'node_modules')).filter((name) => !name.startsWith('.'))
  expect(packages).toEqual(['@valetkey', 'fastify-plugin', 'jose', 'undici'])
})

test('the code imports undici by its file, because Bun replaces the module', () => {
  const folder = packedFile('dist/shared')
  const imports = readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .flatMap((name) => readFileSync(path.join(folder, name), 'utf8').match(/from "undici[^"]*"/g) ?? [])
  expect(new Set(imports)).toEqual(new Set(['from "undici/index.js"']))
})

test('publint and attw report nothing', async () => {
  const publint = await run(process.execPath, [programOf('publint'), 'run', '--strict', installed.tarball])
  expect(publint.stdout).toContain('All good!')
  const attw = [programOf('@arethetypeswrong/cli'), installed.tarball, '--profile', 'esm-only', '--format', 'json']
  const { stdout } = await run(process.execPath, attw, { maxBuffer: 16 * 1024 * 1024 })
  const problems = Object.values<{ resolutionKind: string }[]>(JSON.parse(stdout).problems).flat()
  // The problems are not those of TypeScript before 5.8, which cannot `require` an ES module.
  const modern = problems.filter(({ resolutionKind }) => !['node10', 'node16-cjs'].includes(resolutionKind))
  expect([JSON.parse(stdout).analysis.packageName, modern]).toEqual(['@valetkey/guard', []])
})

test.each<{ version: CompilerVersion; resolution: string }>([
  { version: '5.8', resolution: 'nodenext' },
  { version: '5.8', resolution: 'bundler' },
  { version: '7', resolution: 'nodenext' },
  { version: '7', resolution: 'bundler' }
])(
  "in a user's strict project, TypeScript $version, $resolution: types and examples compile, wrong use does not",
  async ({ version, resolution }) => {
    expect(await installed.compile(version, `tsconfig.${resolution}.json`)).toBe('')
  },
  120_000
)

test.each([
  { name: 'an ES module with Fastify', file: 'app.mjs' },
  { name: 'a CommonJS module with node:http', file: 'app.cjs' }
])("a user's app, $name: 200, 401, 403 and 503", async ({ file }) => {
  const app = await startStranger(installed.project, file, endpoint.url)
  const get = (token?: string) =>
    fetch(`${app.address}/reports`, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })
  try {
    endpoint.answers(json(live))
    const accepted = await get('good')
    expect([accepted.status, await accepted.json()]).toEqual([200, { subject: 'alice-id' }])
    expect((await get()).status).toBe(401)
    endpoint.answers(json({ active: false }))
    expect((await get('unknown')).status).toBe(401)
    endpoint.answers(json({ ...live, scope: 'profile' }))
    expect((await get('narrow')).status).toBe(403)
    endpoint.answers(raw(500, ''))
    expect((await get('any')).status).toBe(503)
  } finally {
    await app.stop()
  }
})

describe('the examples of the README', () => {
  const SERVED = ['express', 'http', 'socket', 'fastify', 'hono', 'route', 'mcp', 'any']
  const token = newOpaqueAccessToken(expiryBucket(new Date(Date.now() + 3_600_000)), randomBytes)

  test('have names, and all but five are served', () => {
    expect(EXAMPLES).toHaveLength(README.match(/^```(?:ts|js)/gm)?.length ?? 0)
    expect(EXAMPLES.map(({ name }) => name).sort()).toEqual(
      [...SERVED, 'activity', 'cache', 'details', 'dpop', 'guard'].sort()
    )
  })

  test.each(SERVED)('%s: 200 with a token, 401 without', async (name) => {
    endpoint.answers(json({ ...live, aud: 'https://api.example.com' }))
    const app = await startStranger(installed.project, 'serve-readme.mjs', name)
    const url = `${app.address}/${name === 'mcp' ? 'mcp' : 'reports'}`
    try {
      const accepted = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
      expect([accepted.status, await accepted.json()]).toMatchObject([200, { owner: 'alice-id' }])
      expect((await fetch(url)).status).toBe(401)
    } finally {
      await app.stop()
    }
  })
})

test('the example with a WebSocket opens it with a token only', async () => {
  endpoint.answers(json({ ...live, aud: 'https://api.example.com' }))
  const app = await startStranger(installed.project, 'serve-readme.mjs', 'socket')
  const token = newOpaqueAccessToken(expiryBucket(new Date(Date.now() + 3_600_000)), randomBytes)
  const url = `${app.address.replace('http', 'ws')}/any`
  try {
    const accepted = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } })
    const [message] = await once(accepted, 'message')
    accepted.terminate()
    expect(JSON.parse(String(message))).toEqual({ owner: 'alice-id' })
    const [, refusal] = await once(new WebSocket(url), 'unexpected-response')
    expect(refusal.statusCode).toBe(401)
  } finally {
    await app.stop()
  }
})

function packedFile(name: string): string {
  return path.join(installed.project, 'node_modules/@valetkey/guard', name)
}
