import { cpSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { packPackage } from '../../dev-stack/lib/packing/pack-package.mjs'

const compiled = fileURLToPath(new URL('../dist', import.meta.url))
const isProgram = (file) => !/\.(map|d\.ts|tsbuildinfo)$/.test(file)

/**
 * Makes the tarball that is published.
 * @param {string} destination an existing folder
 * @param {Parameters<typeof packPackage>[2]} [options]
 * @returns {Promise<string>} the path of the tarball
 */
export function packConformance(destination, options) {
  const addCode = (stage) => {
    cpSync(compiled, path.join(stage, 'dist'), { recursive: true, filter: isProgram })
  }
  return packPackage({ folder: 'packages/conformance', texts: ['README.md'], addCode }, destination, options)
}
