import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { copyDeclarations } from './copy-declarations.mjs'

const home = fileURLToPath(new URL('..', import.meta.url))
const root = path.join(home, '../..')
const PROTOCOL = '@valetkey/oauth-protocol'
const protocolFolder = path.join(root, 'packages/oauth-protocol')

/** The published dependencies of a manifest: those of the protocol package instead of this package, which is in the bundle. */
export function dependenciesOf({ dependencies: { [PROTOCOL]: _bundled, ...dependencies } }) {
  const protocol = JSON.parse(readFileSync(path.join(protocolFolder, 'package.json'), 'utf8'))
  return { ...dependencies, ...protocol.dependencies }
}

/**
 * Writes `dist` with code and declarations into a folder. The protocol package goes in with it: the guard needs little of it,
 * and a published package would be another public API.
 * @param {string} stage
 * @param {object} manifest of the guard
 */
export async function bundleCode(stage, manifest) {
  const entries = entriesOf(manifest)
  await build({
    absWorkingDir: home,
    entryPoints: entries.map((name) => `src/${name}.ts`),
    // Shared code is in files of its own, so that all entries have the same classes and the same tokens of requests.
    outdir: path.join(stage, 'dist'),
    outbase: 'src',
    splitting: true,
    chunkNames: 'shared/[hash]',
    alias: {
      [PROTOCOL]: path.join(protocolFolder, 'src/index.ts'),
      [`${PROTOCOL}/signed`]: path.join(protocolFolder, 'src/signed/index.ts')
    },
    external: [...Object.keys(dependenciesOf(manifest)), ...Object.keys(manifest.peerDependencies)],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    sourcemap: true,
    logLevel: 'warning',
    tsconfigRaw: {}
  })
  for (const file of filesUnder(path.join(stage, 'dist'))) if (file.endsWith('.map')) nameSources(file)
  for (const name of entries) {
    copyDeclarations(path.join(home, `dist/${name}.d.ts`), path.join(stage, 'dist'), {
      source: path.join(home, 'dist'),
      bundled: { [PROTOCOL]: path.join(protocolFolder, 'dist/index.d.ts') },
      // Only users of this entry have the framework.
      external: name.startsWith('fastify/') ? ['undici/index.js', 'fastify'] : ['undici/index.js']
    })
  }
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
