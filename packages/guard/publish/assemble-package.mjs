import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { copyDeclarations } from './copy-declarations.mjs'

const home = fileURLToPath(new URL('..', import.meta.url))
const root = path.join(home, '../..')
const readFromCheckout = (file) => readFileSync(path.join(root, file), 'utf8')
const PROTOCOL = '@valetkey/oauth-protocol'

/**
 * Fills an empty folder with what is published. The protocol package goes in with it: the guard needs little of it,
 * and a package of its own would be one more promise to keep.
 * @param {string} stage
 * @param {object} [options]
 * @param {(file: string) => string} [options.read] of manifest and changelog, by their path from the root; a dry run of a
 *   release reads texts that are not written
 * @param {string} [options.repository] https://github.com/OWNER/NAME; without it the manifest names no repository
 */
export async function assemblePackage(stage, { read = readFromCheckout, repository } = {}) {
  const manifest = JSON.parse(read('packages/guard/package.json'))
  const { [PROTOCOL]: _bundled, ...dependencies } = manifest.dependencies
  const entries = entriesOf(manifest)
  await build({
    absWorkingDir: home,
    entryPoints: entries.map((name) => `src/${name}.ts`),
    // Shared code is in files of its own, so that all entries have the same classes and the same tokens of requests.
    ...{ outdir: path.join(stage, 'dist'), outbase: 'src', splitting: true, chunkNames: 'shared/[hash]' },
    alias: { [PROTOCOL]: path.join(root, 'packages/oauth-protocol/src/index.ts') },
    external: [...Object.keys(dependencies), ...Object.keys(manifest.peerDependencies)],
    ...{ bundle: true, platform: 'node', format: 'esm', target: 'node20.19', sourcemap: true, logLevel: 'warning' },
    tsconfigRaw: {}
  })
  for (const file of filesUnder(path.join(stage, 'dist'))) if (file.endsWith('.map')) nameSources(file)
  for (const name of entries) {
    copyDeclarations(path.join(home, `dist/${name}.d.ts`), path.join(stage, 'dist'), {
      source: path.join(home, 'dist'),
      bundled: { [PROTOCOL]: path.join(root, 'packages/oauth-protocol/dist/index.d.ts') },
      // Only users of this entry have the framework.
      external: name.startsWith('fastify/') ? ['undici/index.js', 'fastify'] : ['undici/index.js']
    })
  }
  for (const name of ['README.md', 'CHANGELOG.md']) {
    writeFileSync(path.join(stage, name), read(`packages/guard/${name}`))
  }
  for (const name of ['LICENSE', 'NOTICE']) cpSync(path.join(root, name), path.join(stage, name))
  writeFileSync(
    path.join(stage, 'package.json'),
    `${JSON.stringify({ ...publicManifest(manifest, dependencies), ...addressesOf(repository) }, null, 2)}\n`
  )
}

/** `./dist/fastify/index.js` is built from `src/fastify/index.ts`. */
function entriesOf({ exports }) {
  return Object.values(exports).flatMap((entry) => /^\.\/dist\/(.*)\.js$/.exec(entry.default)?.[1] ?? [])
}

function filesUnder(folder) {
  return readdirSync(folder, { recursive: true }).map((name) => path.join(folder, name))
}

/** The map holds the sources; what names them must not depend on where this was built. */
function nameSources(file) {
  const map = JSON.parse(readFileSync(file, 'utf8'))
  const sources = map.sources.map((source) => {
    const relative = path.relative(path.join(root, 'packages'), path.resolve(path.dirname(file), source))
    return relative.split(path.sep).join('/')
  })
  writeFileSync(file, JSON.stringify({ ...map, sources }))
}

/** npm refuses provenance unless `repository` is where the workflow runs, so only a release can name it. */
function addressesOf(repository) {
  if (repository === undefined) return {}
  return {
    homepage: `${repository}/tree/main/packages/guard#readme`,
    bugs: `${repository}/issues`,
    repository: { type: 'git', url: `git+${repository}.git`, directory: 'packages/guard' }
  }
}

/** What concerns the workspace alone stays behind. */
function publicManifest(manifest, dependencies) {
  const { private: _private, files: _files, devDependencies: _devDependencies, scripts: _scripts, ...rest } = manifest
  return {
    ...rest,
    ...{ main: './dist/index.js', types: './dist/index.d.ts' },
    // Here versions are pinned; a library's users must be able to take a repaired one without us.
    dependencies: Object.fromEntries(Object.entries(dependencies).map(([name, version]) => [name, `^${version}`]))
  }
}
