// The one folder in which a test run leaves anything, removed at its end.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { isAlive } from '../processes/process-table.mjs'

const PREFIX = 'valetkey-test-'
const REMOVE_LIMIT_MS = 3_000

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

/** A test that was cut off may still be writing for a moment; what is left after the limit, the next run removes. */
export async function removeTestDirectory(directory) {
  const deadline = Date.now() + REMOVE_LIMIT_MS
  for (;;) {
    try {
      // Without retries of its own: those block this process, once for each folder that something writes to.
      return rmSync(directory, { recursive: true, force: true })
    } catch (error) {
      if (Date.now() > deadline) return console.error(`${directory} is not removed: ${error.message}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

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
