// The one folder in which a test run leaves anything, removed at its end.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { isAlive } from './process-table.mjs'

const PREFIX = 'valetkey-test-'

/** @returns the folder of this run, and within it the temporary folder of the tests */
export function makeTestDirectory() {
  removeLeftovers()
  const directory = mkdtempSync(path.join(tmpdir(), `${PREFIX}${process.pid}-`))
  // As open as any temporary folder: a test may act as another user. What is secret here closes itself.
  const temporary = path.join(directory, 'tmp')
  mkdirSync(temporary)
  chmodSync(directory, 0o711)
  chmodSync(temporary, 0o1777)
  return { directory, temporary }
}

/** A test that was cut off may still be writing for a moment. */
export const removeTestDirectory = (directory) => rmSync(directory, { recursive: true, force: true, maxRetries: 10 })

/** A run that was killed could not remove its folder; the number in the name tells that it is gone. */
function removeLeftovers() {
  for (const name of readdirSync(tmpdir()).filter((candidate) => candidate.startsWith(PREFIX))) {
    const pid = Number.parseInt(name.slice(PREFIX.length), 10)
    if (isAlive(pid)) continue
    try {
      rmSync(path.join(tmpdir(), name), { recursive: true, force: true })
    } catch {
      // Another user's; it is theirs to remove.
    }
  }
}
