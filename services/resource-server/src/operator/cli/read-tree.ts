import type { Dirent } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { reasonOf } from './reason-of.js'

/** Directories are gone into and not handed out. */
export type TreeEvent =
  | { kind: 'entry'; path: Buffer; entry: Dirent<Buffer> }
  | { kind: 'unreadable'; path: Buffer; reason: string }

const SLASH = Buffer.from('/')
/** Each level down to here keeps its directory open, so that memory does not grow with it; a process may open 1,024. */
const OPEN_LEVELS = 128

/** The names below a directory, one by one, by a list of levels instead of recursion: depth costs no stack. */
export async function* readTree(top: Buffer, excluded: readonly string[]): AsyncGenerator<TreeEvent> {
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
      if (excluded.includes(entry.name.toString())) continue
      const path = Buffer.concat(level.path.equals(SLASH) ? [SLASH, entry.name] : [level.path, SLASH, entry.name])
      if (entry.isDirectory()) levels.push({ path, entries: entriesOf(path, levels.length < OPEN_LEVELS) })
      else yield { kind: 'entry', path, entry }
    }
  } finally {
    for (const level of levels) await level.entries.return(undefined)
  }
}

/** @param staysOpen otherwise directories come last, from memory, when this one is closed */
async function* entriesOf(path: Buffer, staysOpen: boolean): AsyncGenerator<Dirent<Buffer>, undefined, undefined> {
  const directories: Dirent<Buffer>[] = []
  for await (const entry of await openDirectory(path)) {
    if (staysOpen || !entry.isDirectory()) yield entry
    else directories.push(entry)
  }
  yield* directories
}

/** Node hands out names as bytes here too, which its types know of `readdir` only. */
async function openDirectory(directory: Buffer): Promise<AsyncIterable<Dirent<Buffer>>> {
  const entries: unknown = await opendir(directory, { encoding: 'buffer' as BufferEncoding })
  return entries as AsyncIterable<Dirent<Buffer>>
}
