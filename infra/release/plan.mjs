// What a release changes in the checkout, and what prevents it. Reads files only through `read`.
import { closeUnreleased, sectionOf } from './changelog.mjs'
import { versionsIn, withVersion } from './versions.mjs'

/** @typedef {(file: string) => string} Read */

export const CHANGELOG = 'CHANGELOG.md'
const GUARD_CHANGELOG = 'packages/guard/CHANGELOG.md'
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/
/** Pages that say that there is no release yet. */
const PAGES = [
  'SECURITY.md',
  'docs/install.md',
  'docs/conformance.md',
  'packages/guard/README.md',
  'packages/conformance/README.md',
  CHANGELOG,
  GUARD_CHANGELOG
]
const NOT_YET =
  /nothing is (?:published|released) yet|not on npm yet|(?:before|until) the first release|the first release will/i

/**
 * The changed files of a release. All of them are text, so that a dry run can build from them without writing any.
 * @param {(file: string) => string} read
 * @param {string} version
 * @param {string} date YYYY-MM-DD
 * @returns {Map<string, string>} file → new text
 */
export function planRelease(read, version, date) {
  /** @type {[file: string, text: string][]} */
  const changelogs = [CHANGELOG, GUARD_CHANGELOG].map((file) => [file, closeUnreleased(read(file), version, date)])
  return new Map([...withVersion(read, version), ...changelogs])
}

/**
 * Why this version cannot be released from these files; empty if it can.
 * @param {Read} read
 * @param {string} version
 * @returns {string[]}
 */
export function refuseRelease(read, version) {
  if (!VERSION.test(version)) return [`${version} is no version of the form 1.2.3`]
  const unreleased = sectionOf(read(CHANGELOG), 'Unreleased') ?? ''
  const [{ version: current } = { version: '' }] = versionsIn(read)
  const isReleased = sectionOf(read(CHANGELOG), current) !== undefined
  return [
    ...differences(read, current),
    ...(isReleased && !isLater(version, current) ? [`${version} is not later than ${current}`] : []),
    ...(unreleased === '' ? [`${CHANGELOG}: the section Unreleased is empty`] : []),
    ...(/^### Upgrade$/m.test(unreleased) ? [] : [`${CHANGELOG}: the section Unreleased has no "### Upgrade"`]),
    ...(sectionOf(read(GUARD_CHANGELOG), 'Unreleased') === undefined ? [`${GUARD_CHANGELOG}: no "## Unreleased"`] : [])
  ]
}

/**
 * Pages that still say that nothing is released; a maintainer changes them in the commit of the release.
 * @param {Read} read
 */
export function outdatedPages(read) {
  return PAGES.filter((file) => NOT_YET.test(read(file))).map((file) => `${file} says that nothing is released`)
}

/**
 * Why files do not fit a tag; empty if they do.
 * @param {Read} read
 * @param {string} tag
 * @returns {string[]}
 */
export function refuseTag(read, tag) {
  const version = tag.replace(/^v/, '')
  if (!tag.startsWith('v') || !VERSION.test(version)) return [`${tag} is no tag of the form v1.2.3`]
  const without = [CHANGELOG, GUARD_CHANGELOG].filter((file) => !sectionOf(read(file), version))
  return [...differences(read, version), ...without.map((file) => `${file} has no section of ${version}`)]
}

/**
 * @param {Read} read
 * @param {string} expected
 */
function differences(read, expected) {
  return versionsIn(read)
    .filter(({ version }) => version !== expected)
    .map(({ file, version }) => `${file} has ${version}, not ${expected}`)
}

/**
 * @param {string} version
 * @param {string} current
 */
function isLater(version, current) {
  const [a = [], b = []] = [version, current].map((text) => text.split('.').map(Number))
  const at = a.findIndex((number, index) => number !== b[index])
  return at >= 0 && Number(a[at]) > Number(b[at])
}
