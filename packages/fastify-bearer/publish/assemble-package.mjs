import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { copyDeclarations } from './copy-declarations.mjs'

const home = fileURLToPath(new URL('..', import.meta.url))
const root = path.join(home, '../..')
const PROTOCOL = '@valetkey/oauth-protocol'

/**
 * Fills an empty folder with what is published. The protocol package goes in with it: the guard needs little of it,
 * and a package of its own would be one more promise to keep.
 */
export async function assemblePackage(stage) {
  const manifest = JSON.parse(readFileSync(path.join(home, 'package.json'), 'utf8'))
  const { [PROTOCOL]: _bundled, ...dependencies } = manifest.dependencies
  await build({
    absWorkingDir: home,
    entryPoints: ['src/index.ts'],
    outfile: path.join(stage, 'dist/index.js'),
    alias: { [PROTOCOL]: path.join(root, 'packages/oauth-protocol/src/index.ts') },
    external: [...Object.keys(dependencies), ...Object.keys(manifest.peerDependencies)],
    ...{ bundle: true, platform: 'node', format: 'esm', target: 'node20.19', sourcemap: true, logLevel: 'warning' },
    tsconfigRaw: {}
  })
  nameSources(path.join(stage, 'dist/index.js.map'))
  copyDeclarations(path.join(home, 'dist/index.d.ts'), path.join(stage, 'dist'), {
    bundled: { [PROTOCOL]: path.join(root, 'packages/oauth-protocol/dist/index.d.ts') },
    external: [...Object.keys(dependencies), ...Object.keys(manifest.peerDependencies)]
  })
  for (const name of ['README.md', 'CHANGELOG.md']) cpSync(path.join(home, name), path.join(stage, name))
  for (const name of ['LICENSE', 'NOTICE']) cpSync(path.join(root, name), path.join(stage, name))
  writeFileSync(
    path.join(stage, 'package.json'),
    `${JSON.stringify(publicManifest(manifest, dependencies), null, 2)}\n`
  )
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
