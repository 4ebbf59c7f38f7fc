// Writes figures as Markdown to docs/ between two comments; the text around them stays.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const docs = path.resolve(root, process.env.BENCH_DOCS || 'docs')

export function table(head, rows) {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** Replaces the text between `<!-- figures: name -->` and `<!-- end: name -->` in a page of docs/. */
export function writeFigures(page, name, markdown) {
  const file = path.join(docs, page)
  const before = readFileSync(file, 'utf8')
  const place = new RegExp(`(<!-- figures: ${name} -->\n)[\\s\\S]*?(<!-- end: ${name} -->)`)
  if (!place.test(before)) throw new Error(`${page} has no place for the figures "${name}"`)
  const after = before.replace(place, (_all, begin, end) => `${begin}\n${markdown}\n\n${end}`)
  writeFileSync(file, after)
  console.log(`\nwritten to ${file}`)
}

/** @param picture its path in the docs */
export function writePicture(picture, svg) {
  const file = path.join(docs, picture)
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, svg)
}
