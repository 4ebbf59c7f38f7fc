// Figures as Markdown, and their place in docs/: between two comments, so that the prose around them stays.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const docs = path.resolve(root, process.env.BENCH_DOCS || 'docs')

export function table(head, rows) {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Replaces what stands between `<!-- figures: name -->` and `<!-- end: name -->` of a page of the docs. */
export function writeFigures(page, name, markdown) {
  const file = path.join(docs, page)
  const before = readFileSync(file, 'utf8')
  const place = new RegExp(`(<!-- figures: ${name} -->\n)[\\s\\S]*?(<!-- end: ${name} -->)`)
  if (!place.test(before)) throw new Error(`${page} has no place for the figures "${name}"`)
  writeFileSync(
    file,
    before.replace(place, (_all, begin, end) => `${begin}\n${markdown}\n\n${end}`)
  )
  if (!process.env.BENCH_DOCS) format(file)
  console.log(`\nwritten to ${file}`)
}

/** npm run check looks at pages, too. */
function format(file) {
  const biome = path.join(root, 'node_modules/@biomejs/biome/bin/biome')
  const formatted = spawnSync(process.execPath, [biome, 'format', '--write', file], { cwd: root, encoding: 'utf8' })
  if (formatted.status !== 0) console.error(`${file} could not be formatted: ${formatted.stderr}`)
}

/** @param picture its path in the docs */
export function writePicture(picture, svg) {
  const file = path.join(docs, picture)
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, svg)
}
