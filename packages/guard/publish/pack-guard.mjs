import { packPackage } from '../../dev-stack/lib/packing/pack-package.mjs'
import { bundleCode, dependenciesOf } from './bundle-code.mjs'

/**
 * Makes the tarball that is published.
 * @param {string} destination an existing folder
 * @param {Parameters<typeof packPackage>[2]} [options]
 * @returns {Promise<string>} the path of the tarball
 */
export function packGuard(destination, options) {
  const texts = ['README.md', 'CHANGELOG.md']
  return packPackage({ folder: 'packages/guard', texts, addCode: bundleCode, adapt }, destination, options)
}

function adapt(manifest) {
  const dependencies = Object.entries(dependenciesOf(manifest))
  return {
    main: './dist/index.js',
    types: './dist/index.d.ts',
    // Here versions are pinned; a library's users must be able to take a repaired one without us.
    dependencies: Object.fromEntries(dependencies.map(([name, version]) => [name, `^${version}`]))
  }
}
