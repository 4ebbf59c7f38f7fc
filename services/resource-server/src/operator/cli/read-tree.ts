import type { Dirent } from 'node:fs'
import { opendir } from 'node:fs/promises'
import type { ExcludedName } from './excluded-names.js'
import { reasonOf } from './reason-of.js'

/** Directories are read, not yielded. */
export type TreeEvent =
  | { kind: 'entry'; path: Buffer; entry: Dirent<Buffer> }
  | { kind: 'unreadable'; path: Buffer; reason: string }

const SLASH = Buffer.from('/')
/**
 * Directories above this depth stay open while they are read, so that memory does not grow with their size. A process may
 * open 1,024 files.
 */
const OPEN_LEVELS = 128

/** Yields the entries below a directory. It keeps a list of levels instead of recursing, so depth needs no stack. */
export async function* readTree(top: Buffer, isExcluded: ExcludedName): AsyncGenerator<TreeEvent> {
  const levels = [{ path: top, entries: entriesOf(top, true) }]
  try {
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const next = await level.entries.next().catch((error: unknown) => ({ failed: reasonOf(error) }))
      if ('failed' in next || next.done === true) {
        levels.pop()
        if ('failed' in next) yield { kind: 'unreadable', path: level.path, reason: next.failed }
        continue
      }
      const entry = next.value
      if (isExcluded(entry.name.toString())) continue
      const path = Buffer.concat(level.path.equals(SLASH) ? [SLASH, entry.name] : [level.path, SLASH, entry.name])
      if (entry.isDirectory()) levels.push({ path, entries: entriesOf(path, levels.length < OPEN_LEVELS) })
      else yield { kind: 'entry', path, entry }
    }
  } finally {
    for (const level of levels) await level.entries.return(undefined)
  }
}

/** @param staysOpen false: subdirectories are kept in memory and yielded last, when this directory is closed */
async function* entriesOf(path: Buffer, staysOpen: boolean): AsyncGenerator<Dirent<Buffer>, undefined, undefined> {
  const directories: Dirent<Buffer>[] = []
  for await (const entry of await openDirectory(path)) {
    if (staysOpen || !entry.isDirectory()) yield entry
    else directories.push(entry)
  }
  yield* directories
}

/** Node's types allow the encoding `buffer` for `readdir` only. */
async function openDirectory(directory: Buffer): Promise<AsyncIterable<Dirent<Buffer>>> {
  const entries: unknown = await opendir(directory, { encoding: 'buffer' as BufferEncoding })
  return entries as AsyncIterable<Dirent<Buffer>>
}
