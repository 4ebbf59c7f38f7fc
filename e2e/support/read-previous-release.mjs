import { readFileSync } from 'node:fs'

/**
 * The release before this checkout. It is recorded in a file, because a clone may have no tags.
 * @throws if the file has invalid content
 * @param {string} file
 * @returns {{ version: string, commit: string } | undefined} undefined before the first release
 */
export function readPreviousRelease(file) {
  const { version, commit } = JSON.parse(readFileSync(file, 'utf8'))
  if (version === null && commit === null) return undefined
  const isRelease = typeof version === 'string' && version !== '' && /^[0-9a-f]{40}$/.test(commit ?? '')
  if (!isRelease) throw new Error(`${file} names a version and the whole id of its commit, or null twice`)
  return { version, commit }
}
