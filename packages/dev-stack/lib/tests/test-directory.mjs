// The folder of all files of a test run, removed at its end.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { messageOf } from '../error-code.mjs'
import { isAlive } from '../processes/process-table.mjs'

const PREFIX = 'valetkey-test-'
const REMOVE_LIMIT_MS = 3_000

/** @returns the folder of this run, and the temporary folder of the tests inside it */
export function makeTestDirectory() {
  removeLeftovers()
  const directory = mkdtempSync(path.join(tmpdir(), `${PREFIX}${process.pid}-`))
  // Open to all users, as other temporary folders: a test may run as another user. Secret files have their own permissions.
  const temporary = path.join(directory, 'tmp')
  mkdirSync(temporary)
  chmodSync(directory, 0o711)
  chmodSync(temporary, 0o1777)
  return { directory, temporary }
}

/**
 * An interrupted test may still write for a moment. If the folder cannot be removed in time, the next run removes it.
 * @param {string} directory
 */
export async function removeTestDirectory(directory) {
  const deadline = Date.now() + REMOVE_LIMIT_MS
  for (;;) {
    try {
      // No retries by Node: they would block this process for each folder with new files.
      return rmSync(directory, { recursive: true, force: true })
    } catch (error) {
      if (Date.now() > deadline) return console.error(`${directory} is not removed: ${messageOf(error)}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

/** A killed run leaves its folder. The process id in its name shows that the run has ended. */
function removeLeftovers() {
  for (const name of readdirSync(tmpdir()).filter((candidate) => candidate.startsWith(PREFIX))) {
    const pid = Number.parseInt(name.slice(PREFIX.length), 10)
    if (isAlive(pid)) continue
    try {
      rmSync(path.join(tmpdir(), name), { recursive: true, force: true })
    } catch {
      // It belongs to another user, who must remove it.
    }
  }
}
