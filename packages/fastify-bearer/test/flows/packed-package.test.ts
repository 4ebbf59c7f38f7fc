import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { json, raw, startFakeEndpoint } from '../fake-introspection-endpoint.js'
import { installPacked, startStranger } from '../packed/install.js'

const live = { active: true, aud: 'https://reports.example', scope: 'reports.read', sub: 'alice-id' }

let installed: Awaited<ReturnType<typeof installPacked>>

beforeAll(async () => {
  installed = await installPacked()
}, 120_000)
afterAll(() => installed?.dispose())

test('the tarball has the code, its types, its source map, README, changelog and licence only', () => {
  const files = execFileSync('tar', ['-tzf', installed.tarball], { encoding: 'utf8' }).trim().split('\n').sort()
  const isDeclaration = (file: string) => /^package\/dist\/(?:[a-z-]+\/)*[a-z-]+\.d\.ts$/.test(file)
  expect(files).toContain('package/dist/index.d.ts')
  expect(files.filter((file) => !isDeclaration(file))).toEqual([
    'package/CHANGELOG.md',
    'package/LICENSE',
    'package/NOTICE',
    'package/README.md',
    'package/dist/index.js',
    'package/dist/index.js.map',
    'package/package.json'
  ])
})

test('the manifest requires two packages and Fastify 5, and does not mention the workspace', () => {
  const text = readFileSync(packedFile('package.json'), 'utf8')
  expect(text).not.toMatch(/workspace:|oauth-protocol|"private"|"scripts"|"devDependencies"/)
  expect(JSON.parse(text)).toMatchObject({
    type: 'module',
    license: 'Apache-2.0',
    engines: { node: '>=20.19' },
    sideEffects: false,
    dependencies: { 'fastify-plugin': expect.stringMatching(/^\^/), undici: expect.stringMatching(/^\^/) },
    peerDependencies: { fastify: '5.x' }
  })
  expect(Object.keys(JSON.parse(text).dependencies)).toEqual(['fastify-plugin', 'undici'])
})

test('the source map names files by their path in this repository, and contains their text', () => {
  const { sources, sourcesContent } = JSON.parse(readFileSync(packedFile('dist/index.js.map'), 'utf8'))
  expect(sources).toContain('fastify-bearer/src/guard/bearer-plugin.ts')
  expect(
    sources.every((source: string) => /^(fastify-bearer|oauth-protocol)\/src\/[a-z0-9/-]+\.ts$/.test(source))
  ).toBe(true)
  expect(sourcesContent).toHaveLength(sources.length)
})

test("its types compile in a user's strict TypeScript project, and reject wrong use", async () => {
  expect(await installed.compile()).toBe('')
})

describe('the examples of the README', () => {
  const examples = readFileSync(path.join(import.meta.dirname, '../../README.md'), 'utf8').match(
    /(?<=^```js\n)import [^`]*/gm
  )
  const known = {
    'the first example': "const clientSecret = 'secret', findReports = () => []",
    'the statistics': `import { fastify } from 'fastify'
      const app = fastify(), refusals = { inc() {} }, clientId = 'reports', clientSecret = 'secret', scopesSupported = []
      const issuer = 'https://auth.example.com', resource = 'https://api.example.com', url = issuer`
  }

  test('are all tested', () => {
    expect(examples).toHaveLength(Object.keys(known).length)
  })

  test.each(Object.entries(known).map(([name, given], number) => ({ name, given, number })))(
    '$name runs',
    ({ given, number }) => {
      const file = path.join(installed.project, `readme-${number}.mjs`)
      const example = examples?.[number]?.replace('port: 4300', "port: 0, host: '127.0.0.1'")
      writeFileSync(file, `${given}\n${example}\nawait app.close()\nconsole.log('it ran')`)
      expect(execFileSync(process.execPath, [file], { encoding: 'utf8', timeout: 20_000 })).toContain('it ran')
    }
  )
})

test("a user's app responds with 200, 401, 403 and 503", async () => {
  const endpoint = await startFakeEndpoint()
  const app = await startStranger(installed.project, endpoint.url)
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
    await endpoint.close()
  }
})

function packedFile(name: string): string {
  return path.join(installed.project, 'node_modules/@valetkey/fastify-bearer', name)
}
