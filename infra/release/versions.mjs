// The version of the product. All packages, the chart and the images have the same one.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { codeOf } from '../../packages/dev-stack/lib/error-code.mjs'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** The text of a file of this checkout. @param {string} file relative to the root */
export const readFromCheckout = (file) => readFileSync(path.join(root, file), 'utf8')

const folders = ['services', 'packages', 'examples'].flatMap((parent) =>
  readdirSync(path.join(root, parent), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${parent}/${name}`)
)
const manifests = ['package.json', ...['e2e', 'bench', ...folders].map((folder) => `${folder}/package.json`)]
  .filter((file) => /"version":/.test(readIfThere(file)))
  .map((file) => ({ file, pattern: /^( {2}"version": ")([^"]+)/gm }))

/** Every place with the version; the second group of the pattern is the version. */
const places = [
  ...manifests,
  { file: 'infra/helm/valetkey/Chart.yaml', pattern: /^((?:appVersion|version): )(\S+)$/gm },
  { file: 'infra/helm/valetkey/examples/production.yaml', pattern: /^( +tag: )(\S+)$/gm },
  { file: 'examples/mcp-server/src/tools.ts', pattern: /(version: ')([^']+)/g }
]

/**
 * The versions that files contain, in the order of `places`.
 * @param {(file: string) => string} read
 * @returns {{ file: string, version: string }[]}
 */
export function versionsIn(read) {
  return places.flatMap(({ file, pattern }) => {
    return [...read(file).matchAll(pattern)].map(([, , version = '']) => ({ file, version }))
  })
}

/**
 * The files with another version.
 * @param {(file: string) => string} read
 * @param {string} version
 * @returns {Map<string, string>} file → new text
 */
export function withVersion(read, version) {
  return new Map(places.map(({ file, pattern }) => [file, read(file).replace(pattern, `$1${version}`)]))
}

/** @param {string} file */
function readIfThere(file) {
  try {
    return readFromCheckout(file)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return ''
    throw error
  }
}
