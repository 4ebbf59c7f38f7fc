import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { startLocalRegistry } from '../../../packages/guard/test/packed/local-registry.mjs'
import { startStoreRegistry } from '../../../packages/guard/test/packed/store-registry.mjs'
import { documentedCommands } from './documented-commands.mjs'
import { equal } from './equal.mjs'
import { useGuard } from './guard.mjs'

const run = promisify(execFile)

/**
 * Publishes the packages to a registry on loopback, installs them in an empty folder with the documented commands, and uses
 * them there.
 * @param {object} options
 * @param {Record<string, string>} options.tarballs name of the package without scope → path
 */
export async function checkPackages({ tarballs, version, images, repository, directory, report }) {
  const [home, project] = ['home', 'project'].map((name) => path.join(directory, name))
  for (const folder of [home, project]) mkdirSync(folder)
  const store = await startStoreRegistry()
  const registry = await startLocalRegistry(path.join(directory, 'packages'), store.url)
  // An empty home directory, so that npm uses neither this machine's settings nor its cache.
  const settings = { cwd: project, env: { PATH: process.env.PATH, HOME: home } }
  const npm = (...command) => run('npm', [...command, '--loglevel=error'], settings)
  try {
    // npm publishes only with some token, although the registry accepts anonymous clients.
    writeFileSync(path.join(home, '.npmrc'), `registry=${registry.url}\n${registry.url.slice(5)}:_authToken=none\n`)
    for (const [name, tarball] of Object.entries(tarballs)) {
      await npm('publish', tarball)
      const { stdout } = await npm('view', `@valetkey/${name}@${version}`, '--json')
      comparePublished(name, JSON.parse(stdout), { tarball, repository })
      report(`published ${name} to a local npm registry: the very tarball, with repository, homepage and bugs`)
    }
    for (const args of documentedCommands('npm install', { version, images }))
      await npm('install', '--no-audit', ...args)
    await npm('install', '--no-audit', '--no-save', '@types/node@20')
  } finally {
    await registry.close()
    await store.close()
  }
  for (const name of Object.keys(tarballs)) {
    const manifest = path.join(project, `node_modules/@valetkey/${name}/package.json`)
    equal(`the installed version of ${name}`, JSON.parse(readFileSync(manifest, 'utf8')).version, version)
  }
  // Compiled when the package was packed.
  const { HELP } = await import('../../../packages/conformance/dist/command.js')
  const { stdout } = await run('npx', ['--offline', 'oauth-conformance', '--help'], settings)
  equal('the output of oauth-conformance --help', stdout, HELP)
  await useGuard(project)
  report('installed them in an empty folder with the documented commands: import, require, types and the command work')
}

function comparePublished(name, { dist, repository: named, homepage, bugs }, { tarball, repository }) {
  const sha512 = createHash('sha512').update(readFileSync(tarball)).digest('base64')
  equal(`the integrity of ${name} in the registry`, dist.integrity, `sha512-${sha512}`)
  equal(`repository.url of ${name}`, named.url, `git+${repository}.git`)
  equal(`repository.directory of ${name}`, named.directory, `packages/${name}`)
  equal(`homepage and bugs of ${name}`, [homepage, bugs.url].filter((url) => url.startsWith(repository)).length, 2)
}
