import type { BigIntStats, Dirent } from 'node:fs'
import { lstat } from 'node:fs/promises'
import type { ExcludedName } from './excluded-names.js'
import { readTree } from './read-tree.js'
import { reasonOf } from './reason-of.js'

/** Paths are bytes: a file name need not be UTF-8, and the next import identifies the file by its path. */
export type WalkEvent =
  | { kind: 'file'; path: Buffer; name: Buffer; stats: BigIntStats }
  | { kind: 'skipped'; path: Buffer; reason: 'a symbolic link' | 'neither a file nor a directory' }
  | { kind: 'unreadable'; path: Buffer; reason: string }

/**
 * Yields the entries below a directory one by one, so that memory does not grow with the tree. Symbolic links are not
 * followed: they may leave the tree or form a loop. Entries that cannot be read are reported, and the walk continues.
 * @param isExcluded names to skip at any depth, with everything below them
 */
export async function* walkDirectory(directory: Buffer, isExcluded: ExcludedName): AsyncGenerator<WalkEvent> {
  for await (const found of readTree(directory, isExcluded)) {
    yield found.kind === 'entry' ? await describeEntry(found.path, found.entry) : found
  }
}

/** Yields once for each entry that `walkDirectory` would report, without reading its metadata. */
export async function* walkNames(directory: Buffer, isExcluded: ExcludedName): AsyncGenerator<void> {
  for await (const _found of readTree(directory, isExcluded)) yield
}

async function describeEntry(path: Buffer, entry: Dirent<Buffer>): Promise<WalkEvent> {
  if (entry.isSymbolicLink()) return { kind: 'skipped', path, reason: 'a symbolic link' }
  if (!entry.isFile()) return { kind: 'skipped', path, reason: 'neither a file nor a directory' }
  try {
    const stats = await lstat(path, { bigint: true })
    // The entry may have been replaced since the directory was read.
    if (!stats.isFile()) return { kind: 'skipped', path, reason: 'neither a file nor a directory' }
    return { kind: 'file', path, name: entry.name, stats }
  } catch (error) {
    return { kind: 'unreadable', path, reason: reasonOf(error) }
  }
}
