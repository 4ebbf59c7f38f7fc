import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { startLocalRegistry } from '../../../packages/guard/test/packed/local-registry.mjs'
import { startStoreRegistry } from '../../../packages/guard/test/packed/store-registry.mjs'
import { readFromCheckout, root } from '../versions.mjs'
import { documentedCommands } from './documented-commands.mjs'

const run = promisify(execFile)
const ENTRIES = ['guard', 'guard/node', 'guard/web', 'guard/mcp'].map((entry) => `@valetkey/${entry}`)

/**
 * Publishes the guard's tarball to a registry on loopback, installs it in an empty folder, and uses it as ES module, from
 * CommonJS and with types.
 */
export async function checkGuard({ tarball, version, images, repository, directory, report }) {
  const [home, project] = ['home', 'project'].map((name) => path.join(directory, name))
  for (const folder of [home, project]) mkdirSync(folder)
  const store = await startStoreRegistry()
  const registry = await startLocalRegistry(path.join(directory, 'packages'), store.url)
  // An empty home directory, so that npm uses neither this machine's settings nor its cache.
  const env = { PATH: process.env.PATH, HOME: home }
  const npm = (...command) => run('npm', [...command, '--loglevel=error'], { cwd: project, env })
  try {
    // npm publishes only with some token, although the registry accepts anonymous clients.
    writeFileSync(path.join(home, '.npmrc'), `registry=${registry.url}\n${registry.url.slice(5)}:_authToken=none\n`)
    await npm('publish', tarball)
    const { stdout } = await npm('view', `@valetkey/guard@${version}`, '--json')
    const { dist, repository: named, homepage, bugs } = JSON.parse(stdout)
    const sha512 = createHash('sha512').update(readFileSync(tarball)).digest('base64')
    equal('the integrity in the registry', dist.integrity, `sha512-${sha512}`)
    equal('repository.url of the package', named.url, `git+${repository}.git`)
    equal('homepage and bugs', [homepage, bugs.url].filter((url) => url.startsWith(repository)).length, 2)
    report('published the guard to a local npm registry: the very tarball, with repository, homepage and bugs')
    for (const args of documentedCommands('npm install', { version, images }))
      await npm('install', '--no-audit', ...args)
    await npm('install', '--no-audit', '--no-save', '@types/node@20')
  } finally {
    await registry.close()
    await store.close()
  }
  const installed = JSON.parse(readFileSync(path.join(project, 'node_modules/@valetkey/guard/package.json'), 'utf8'))
  equal('the installed version', installed.version, version)
  await useInstalled(project)
  report('installed it in an empty folder with the documented command: import, require and types work')
}

async function useInstalled(project) {
  const names = JSON.stringify(ENTRIES)
  writeFileSync(
    path.join(project, 'use.mjs'),
    `for (const name of ${names}) console.log(Object.keys(await import(name)).length > 0)`
  )
  writeFileSync(
    path.join(project, 'use.cjs'),
    `for (const name of ${names}) console.log(Object.keys(require(name)).length > 0)`
  )
  for (const file of ['use.mjs', 'use.cjs']) {
    const { stdout } = await run(process.execPath, [file], { cwd: project })
    equal(`exports seen by ${file}`, stdout, 'true\n'.repeat(ENTRIES.length))
  }
  // The first and the second example of the README.
  const readme = readFromCheckout('packages/guard/README.md')
  const [, guard] = /^```ts\n(\/\/ guard\.ts\n[\s\S]*?)^```$/m.exec(readme) ?? []
  const [, http] = /^```ts\n(\/\/ http\.ts\n[\s\S]*?)^```$/m.exec(readme) ?? []
  writeFileSync(path.join(project, 'package.json'), '{ "type": "module" }')
  writeFileSync(path.join(project, 'guard.ts'), guard)
  writeFileSync(path.join(project, 'http.ts'), http)
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023', '--types', 'node']
  const compiler = path.join(root, 'node_modules/typescript/bin/tsc')
  await run(process.execPath, [compiler, ...options, 'guard.ts', 'http.ts'], { cwd: project }).catch(({ stdout }) => {
    throw new Error(`the README's examples do not compile: ${stdout}`)
  })
}

function equal(what, actual, expected) {
  if (actual !== expected) throw new Error(`${what}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`)
}
