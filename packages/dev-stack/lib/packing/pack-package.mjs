import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { checkout } from '../checkout.mjs'

/** @param {string} file */
const readFromCheckout = (file) => readFileSync(path.join(checkout, file), 'utf8')

/**
 * Makes the tarball of a package that is published. The package's own folder is private, so that npm publishes no other
 * content than this.
 * @param {object} content
 * @param {string} content.folder of the package, from the root: `packages/guard`
 * @param {readonly string[]} content.texts files of the package that are published unchanged, such as README.md
 * @param {(stage: string, manifest: object) => void | Promise<void>} content.addCode writes the compiled code into an
 *   empty folder; the package is compiled before
 * @param {(manifest: object) => object} [content.adapt] fields of the published manifest that differ
 * @param {string} destination an existing folder
 * @param {object} [options]
 * @param {(file: string) => string} [options.read] of manifest and texts, by their path from the root; a dry run of a
 *   release reads texts that are not written
 * @param {string} [options.repository] https://github.com/OWNER/NAME; without it the manifest names no repository
 * @returns {Promise<string>} the path of the tarball
 */
export async function packPackage(content, destination, { read = readFromCheckout, repository } = {}) {
  const { folder, texts, addCode, adapt = () => ({}) } = content
  const manifest = JSON.parse(read(`${folder}/package.json`))
  const stage = mkdtempSync(path.join(tmpdir(), 'pack-'))
  try {
    run(process.execPath, [path.join(checkout, 'node_modules/typescript/bin/tsc'), '-b', folder])
    await addCode(stage, manifest)
    for (const name of texts) writeFileSync(path.join(stage, name), read(`${folder}/${name}`))
    for (const name of ['LICENSE', 'NOTICE']) cpSync(path.join(checkout, name), path.join(stage, name))
    const published = { ...withoutWorkspace(manifest), ...adapt(manifest), ...addressesOf(repository, folder) }
    writeFileSync(path.join(stage, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
    const report = run('npm', ['pack', stage, '--pack-destination', destination, '--json'])
    return path.join(destination, JSON.parse(report)[0].filename)
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

/**
 * What concerns the workspace alone is not published.
 * @param {Record<string, unknown>} manifest
 */
function withoutWorkspace(manifest) {
  const { private: _private, files: _files, devDependencies: _devDependencies, scripts: _scripts, ...rest } = manifest
  return rest
}

/**
 * npm refuses provenance unless `repository` is where the workflow runs, so only a release can name it.
 * @param {string | undefined} repository
 * @param {string} folder
 */
function addressesOf(repository, folder) {
  if (repository === undefined) return {}
  return {
    homepage: `${repository}/tree/main/${folder}#readme`,
    bugs: `${repository}/issues`,
    repository: { type: 'git', url: `git+${repository}.git`, directory: folder }
  }
}

/**
 * @param {string} command
 * @param {readonly string[]} args
 */
function run(command, args) {
  const shell = command === 'npm' && process.platform === 'win32'
  const { status, stdout } = spawnSync(command, args, {
    cwd: checkout,
    encoding: 'utf8',
    shell,
    stdio: ['ignore', 'pipe', 'inherit']
  })
  if (status !== 0) throw new Error(`${command} ${args[0]} ended with ${status}: ${stdout}`)
  return stdout
}
