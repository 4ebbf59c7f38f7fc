// Makes src/confusables.ts from Unicode's confusables.txt (https://www.unicode.org/Public/security/latest/confusables.txt):
//   node packages/sign-in-rules/data/make-confusables.mjs confusables.txt LICENSE
// LICENSE is the Unicode License V3 (https://www.unicode.org/license.txt). Afterwards raise NAME_KEY_VERSION in src/skeleton.ts.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const [file, licence] = process.argv.slice(2)
if (file === undefined || licence === undefined) throw new Error('usage: make-confusables.mjs CONFUSABLES_TXT LICENSE')

const LINE_LENGTH = 320
const text = readFileSync(file, 'utf8')
const version = /^# Version: (\S+)$/m.exec(text)?.[1]
const entries = [...text.matchAll(/^\ufeff?([0-9A-F]+) ;\t([0-9A-F ]+) ;\tMA\t/gm)].map(([, source, target]) => ({
  source: Number.parseInt(source ?? '', 16),
  target: (target ?? '').trim().split(' ')
}))
const total = Number(/^# total: (\d+)$/m.exec(text)?.[1])
if (version === undefined || entries.length !== total)
  throw new Error(`${entries.length} entries of ${total} were read`)

// One item for each target: its code points, and its sources in order, each as the distance from the one before. In base 36.
/** @type {Map<string, number[]>} */
const sources = new Map()
for (const { source, target } of entries) {
  const key = target.map((point) => Number.parseInt(point, 16).toString(36)).join('.')
  sources.set(key, [...(sources.get(key) ?? []), source])
}
const items = [...sources].map(([target, points]) => {
  const sorted = points.toSorted((one, other) => one - other)
  return `${target}=${sorted.map((point, index) => (point - (sorted[index - 1] ?? 0)).toString(36)).join(' ')}`
})

const lines = ['']
for (const item of items) {
  const last = lines.length - 1
  const line = lines[last] === '' ? item : `${lines[last]};${item}`
  if (line.length <= LINE_LENGTH) lines[last] = line
  else lines.push(item)
}

const [notice] = readFileSync(licence, 'utf8').split(/^-{20,}$/m)
const comment = (notice ?? '')
  .trim()
  .split('\n')
  .map((line) => ` * ${line}`.trimEnd())
const source = `/*
 * Made by data/make-confusables.mjs. The data are those of Unicode, under this licence:
 *
${comment.join('\n')}
 */

/**
 * confusables.txt of Unicode ${version} (UTS #39 §4): ${total} entries. Items are separated by semicolons and line breaks. Each has the
 * code points of a text, and after the sign "=" the characters that look like it, each as the distance from the one before.
 * All numbers are in base 36.
 */
export const CONFUSABLES = \`
${lines.join('\n')}
\`
`
writeFileSync(path.join(import.meta.dirname, '../src/confusables.ts'), source)
