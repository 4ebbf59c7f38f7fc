import type { BigIntStats, Dirent } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { readTree } from './read-tree.js'
import { reasonOf } from './reason-of.js'

/** Paths are bytes: a file name need not be UTF-8, and every file has to be found again by its name. */
export type WalkEvent =
  | { kind: 'file'; path: Buffer; name: Buffer; stats: BigIntStats }
  | { kind: 'skipped'; path: Buffer; reason: 'a symbolic link' | 'neither a file nor a directory' }
  | { kind: 'unreadable'; path: Buffer; reason: string }

/**
 * Everything below a directory, entry by entry, so that memory does not grow with the tree. Symbolic links are not
 * followed: they may lead out of the tree or round in circles. What cannot be read is reported, and the walk goes on.
 * @param excluded names that are passed over wherever they stand, with all below them
 */
export async function* walkDirectory(directory: Buffer, excluded: readonly string[]): AsyncGenerator<WalkEvent> {
  for await (const found of readTree(directory, excluded)) {
    yield found.kind === 'entry' ? await look(found.path, found.entry) : found
  }
}

/** One turn for every entry that `walkDirectory` would report, without looking at it. */
export async function* walkNames(directory: Buffer, excluded: readonly string[]): AsyncGenerator<void> {
  for await (const _found of readTree(directory, excluded)) yield
}

async function look(path: Buffer, entry: Dirent<Buffer>): Promise<WalkEvent> {
  if (entry.isSymbolicLink()) return { kind: 'skipped', path, reason: 'a symbolic link' }
  if (!entry.isFile()) return { kind: 'skipped', path, reason: 'neither a file nor a directory' }
  try {
    const stats = await lstat(path, { bigint: true })
    // It may have become something else since the directory was read.
    if (!stats.isFile()) return { kind: 'skipped', path, reason: 'neither a file nor a directory' }
    return { kind: 'file', path, name: entry.name, stats }
  } catch (error) {
    return { kind: 'unreadable', path, reason: reasonOf(error) }
  }
}
