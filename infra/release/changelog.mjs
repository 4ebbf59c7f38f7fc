// Changelogs in the form of Keep a Changelog: `## Unreleased`, then `## VERSION - DATE`.

const UNRELEASED = '## Unreleased'

/**
 * The text below the heading of a version, without the heading; undefined without such a heading.
 * @param {string} changelog
 * @param {string} version or `Unreleased`
 */
export function sectionOf(changelog, version) {
  const sections = changelog.split(/^## /m).slice(1)
  const found = sections.find((section) => section.split('\n')[0]?.split(' - ')[0] === version)
  return found?.slice(found.indexOf('\n')).trim()
}

/**
 * Gives the unreleased section a version and a date, and puts an empty unreleased section above it.
 * @param {string} changelog
 * @param {string} version
 * @param {string} date YYYY-MM-DD
 */
export function closeUnreleased(changelog, version, date) {
  const text = sectionOf(changelog, 'Unreleased') === '' ? '\n\nNo changes.' : ''
  return changelog.replace(/^## Unreleased$/m, `${UNRELEASED}\n\n## ${version} - ${date}${text}`)
}

const KINDS = ['added', 'changed', 'deprecated', 'removed', 'fixed', 'security']

/**
 * The entries of a section, as Artifact Hub shows them (`artifacthub.io/changes`): one for each first-level bullet below a
 * heading such as `### Added`, as text without links.
 * @param {string} section the result of `sectionOf`
 * @returns {{ kind: string, description: string }[]}
 */
export function changesOf(section) {
  return section.split(/^### /m).flatMap((part) => {
    const kind = (part.split('\n')[0] ?? '').trim().toLowerCase()
    if (!KINDS.includes(kind)) return []
    const entries = part.split(/^- /m).slice(1)
    return entries.map((entry) => ({ kind, description: withoutLinks(entry).replace(/\s+/g, ' ').trim() }))
  })
}

/** @param {string} text */
const withoutLinks = (text) => text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
