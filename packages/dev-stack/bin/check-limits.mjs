// `npm run check:limits`: no function over 60 lines, no file over 250, no test over 500, no test without the source file that
// it tests, no test that may end before its assertions or whose title has no subject, no limit in a test that a slow machine
// does not keep, no view, message or migration of a feature without its name, and no unused view. Knip finds unused exports.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { earlyReturns } from '../lib/checks/early-returns.mjs'
import { foreignNames, unknownNames } from '../lib/checks/feature-names.mjs'
import { longFunctions } from '../lib/checks/function-lengths.mjs'
import { titlesWithoutSubject } from '../lib/checks/test-titles.mjs'
import { timeLimitsIn } from '../lib/checks/time-limits.mjs'
import { unusedViews } from '../lib/checks/unused-views.mjs'

const MAX_LINES = 250
const MAX_FUNCTION_LINES = 60
// Each test file loads the service again, so one file holds the tests of one subject.
const MAX_TEST_LINES = 500
const WORKSPACES = ['services', 'packages', 'examples']
const OTHER_CODE = ['e2e', 'bench', 'infra']
const IGNORED = new Set(['node_modules', 'dist', 'artifacts'])
// A test world and an example that is a page of the docs are read from top to bottom.
const WITH_LONG_FUNCTIONS = /\/test\/|^e2e\/|^examples\/[^/]+\/[^/]+\.mjs$/
// Sources of packages/dev-stack are also programs and the modules of those programs.
const SOURCE_FOLDERS = ['src', 'lib', 'bin']
// Flows test several files together: in test/flows/, those of a feature in the folder of the feature.
const FLOWS = /^(features\/.+\/)?flows\//
const AUTHORIZATION_SERVER = 'services/authorization-server'
const SQL = /^services\/[^/]+\/src\/(?:storage\/|features\/.+-(?:store|sql)\.ts$)/

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..')
const code = [...WORKSPACES, ...OTHER_CODE].flatMap(listFiles).filter((file) => /\.[cm]?[jt]s$/.test(file))
const checks = [
  tooLong,
  withLongFunctions,
  withoutCounterpart,
  endingEarly,
  withoutSubject,
  withTimeLimit,
  withForeignName,
  withManyNumbers
]
const problems = [
  ...checks.flatMap((check) => code.flatMap(check)),
  ...unknownNames(namesOfFeatures()),
  ...withoutUse()
]
for (const problem of problems) console.error(problem)
if (problems.length > 0) {
  console.error(`${problems.length} problems; CONTRIBUTING.md explains the limits.`)
  process.exitCode = 1
}

function listFiles(folder) {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (IGNORED.has(entry.name)) return []
    const name = path.posix.join(folder, entry.name)
    return entry.isDirectory() ? listFiles(name) : [name]
  })
}

function tooLong(file) {
  const lines = readFileSync(path.join(root, file), 'utf8').trimEnd().split('\n').length
  const most = file.endsWith('.test.ts') ? MAX_TEST_LINES : MAX_LINES
  return lines > most ? [`${file}: ${lines} lines, ${most} allowed`] : []
}

function withLongFunctions(file) {
  if (WITH_LONG_FUNCTIONS.test(file)) return []
  return longFunctions(readFileSync(path.join(root, file), 'utf8'), MAX_FUNCTION_LINES).map(
    ({ line, lines }) => `${file}:${line}: a function of ${lines} lines, ${MAX_FUNCTION_LINES} allowed`
  )
}

/** test/a/b.test.ts and test/a/b-<aspect>.test.ts test src/a/b.ts. */
function withoutCounterpart(file) {
  const [, workspace = '', folder = '', name = ''] = /^([^/]+\/[^/]+)\/test\/(.*?)([^/]+)\.test\.ts$/.exec(file) ?? []
  if (name === '' || FLOWS.test(folder) || folder.startsWith('support/')) return []
  const words = name.split('.')[0].split('-')
  const names = words.map((_, index) => words.slice(0, index + 1).join('-'))
  const candidates = SOURCE_FOLDERS.flatMap((source) =>
    names.map((one) => path.join(root, workspace, source, folder, one))
  )
  const isThere = candidates.some((one) => existsSync(`${one}.ts`) || existsSync(`${one}.mjs`))
  return isThere ? [] : [`${file}: no source file with this name`]
}

/** A test that returned counts as passed. What needs a program has it in its file name. */
function endingEarly(file) {
  if (!file.endsWith('.test.ts')) return []
  const lines = earlyReturns(readFileSync(path.join(root, file), 'utf8'))
  return lines.map((line) => `${file}:${line}: a test or hook returns on a condition`)
}

function withoutSubject(file) {
  if (!file.endsWith('.test.ts')) return []
  const lines = titlesWithoutSubject(readFileSync(path.join(root, file), 'utf8'))
  return lines.map((line) => `${file}:${line}: the title of a test begins with a verb; name its subject`)
}

function withTimeLimit(file) {
  // Its own examples are such limits.
  if (!file.endsWith('.test.ts') || file.endsWith('/time-limits.test.ts')) return []
  return timeLimitsIn(readFileSync(path.join(root, file), 'utf8')).map((problem) => `${file}: ${problem}`)
}

function withForeignName(file) {
  const [, feature] = new RegExp(`^${AUTHORIZATION_SERVER}/src/features/([^/]+)/`).exec(file) ?? []
  if (feature === undefined) return []
  return foreignNames(feature, readFileSync(path.join(root, file), 'utf8')).map((problem) => `${file}: ${problem}`)
}

/** From three parameters on, a statement names them (`defineStatement`). */
function withManyNumbers(file) {
  if (!SQL.test(file)) return []
  const lines = readFileSync(path.join(root, file), 'utf8').split('\n')
  return lines.flatMap((line, index) =>
    /\$(?:[3-9]|\d\d)/.test(line) ? [`${file}:${index + 1}: name the parameters of the statement`] : []
  )
}

/** Views that are left of a removed page or feature. */
function withoutUse() {
  const folder = `${AUTHORIZATION_SERVER}/views/`
  const templates = listFiles(folder).filter((file) => file.endsWith('.hbs'))
  const sources = code.filter((file) => file.startsWith(`${AUTHORIZATION_SERVER}/src/`))
  const read = (file) => readFileSync(path.join(root, file), 'utf8')
  return unusedViews(
    templates.map((file) => ({ name: file.slice(folder.length), text: read(file) })),
    sources.map(read)
  ).map((name) => `${folder}${name}: no source renders it, or no template includes it`)
}

function namesOfFeatures() {
  const folderOf = (name) => path.join(root, AUTHORIZATION_SERVER, name)
  const messages = JSON.parse(readFileSync(path.join(folderOf('messages'), 'en.json'), 'utf8'))
  const features = existsSync(folderOf('src/features')) ? readdirSync(folderOf('src/features')) : []
  return {
    features,
    views: listFiles(`${AUTHORIZATION_SERVER}/views`).map((file) => path.parse(file).name),
    messages: Object.keys(messages),
    migrations: readdirSync(folderOf('migrations')).map((file) => path.parse(file).name.replace(/^\d+_/, ''))
  }
}
