import { readFileSync } from 'node:fs'

/**
 * The release that this checkout follows. It is recorded in a file and not read from tags, which a clone may lack.
 * @returns undefined before the first release
 * @throws when the file holds anything else
 */
export function readPreviousRelease(file) {
  const { version, commit } = JSON.parse(readFileSync(file, 'utf8'))
  if (version === null && commit === null) return undefined
  const isRelease = typeof version === 'string' && version !== '' && /^[0-9a-f]{40}$/.test(commit ?? '')
  if (!isRelease) throw new Error(`${file} names a version and the whole id of its commit, or null twice`)
  return { version, commit }
}
