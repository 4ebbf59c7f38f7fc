// `npm run check:workflows`: actionlint on .github/workflows. e2e/workflows.test.ts checks our own rules.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { createLinter } from 'actionlint'

const FOLDER = '.github/workflows'
/** Newer than this actionlint, which is the newest on npm. */
const UNKNOWN_TO_ACTIONLINT = [
  /^undefined variable "vars"/,
  /^label "ubuntu-24\.04(?:-arm)?" is unknown/,
  /^unknown permission scope "attestations"/
]

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..')
const lint = await createLinter()
const found = readdirSync(path.join(root, FOLDER)).flatMap((name) => {
  const file = `${FOLDER}/${name}`
  return lint(readFileSync(path.join(root, file), 'utf8'), file)
})
const problems = found.filter(({ message }) => !UNKNOWN_TO_ACTIONLINT.some((known) => known.test(message)))
for (const { file, line, column, message } of problems) console.error(`${file}:${line}:${column} ${message}`)
const stale = UNKNOWN_TO_ACTIONLINT.filter((known) => !found.some(({ message }) => known.test(message)))
for (const known of stale) console.error(`No workflow needs the exception ${known} any more.`)
// The linter's module keeps Node running.
process.exit(problems.length + stale.length === 0 ? 0 : 1)
