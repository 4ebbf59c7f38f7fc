import { createHash } from 'node:crypto'
import type { ImportRoot } from '../../storage/import-roots.js'

/** A directory whose files have paths inside a root: the directory itself, or one that contains it. */
export type Place = {
  directory: Buffer
  rootId: string
  /** The path of the directory inside the root, with a slash at the end; empty if it is the root. */
  prefix: Buffer
}

/** What identifies a file at the next import. */
export type FileIdentity = { rootId: string; sourcePath: Buffer; sourceHash: Buffer }

const SLASH = Buffer.from('/')

export const withSlash = (directory: Buffer): Buffer =>
  directory.equals(SLASH) ? SLASH : Buffer.concat([directory, SLASH])

export function isBelow(path: Buffer, directory: Buffer): boolean {
  const start = withSlash(directory)
  return path.length > start.length && path.subarray(0, start.length).equals(start)
}

/** @param path below the directory */
export const pathInside = (path: Buffer, directory: Buffer): Buffer => path.subarray(withSlash(directory).length)

/** The root that is this directory, or the closest one that contains it. */
export function placeIn(roots: readonly ImportRoot[], directory: Buffer): Place | undefined {
  const around = roots.filter(({ path }) => path.equals(directory) || isBelow(directory, path))
  const closest = around.sort((a, b) => b.path.length - a.path.length)[0]
  if (closest === undefined) return undefined
  const isRoot = closest.path.equals(directory)
  const prefix = isRoot ? Buffer.alloc(0) : withSlash(pathInside(directory, closest.path))
  return { directory, rootId: closest.rootId, prefix }
}

/** Roots below a directory keep their files when a directory around them is imported. */
export function placesBelow(roots: readonly ImportRoot[], directory: Buffer): Place[] {
  return roots
    .filter(({ path }) => isBelow(path, directory))
    .map(({ rootId, path }) => ({ directory: path, rootId, prefix: Buffer.alloc(0) }))
}

/** @param places the imported directory, and roots below it */
export function identify(path: Buffer, places: readonly Place[]): FileIdentity {
  let place: Place | undefined
  for (const candidate of places) {
    const contains = candidate.directory.equals(path) || isBelow(path, candidate.directory)
    if (contains && candidate.directory.length >= (place?.directory.length ?? 0)) place = candidate
  }
  if (place === undefined) throw new Error('the file is outside the imported directory')
  const inside = place.directory.equals(path) ? Buffer.alloc(0) : pathInside(path, place.directory)
  const sourcePath = Buffer.concat([place.prefix, inside])
  const sourceHash = createHash('sha256').update(place.rootId).update(SLASH).update(sourcePath).digest()
  return { rootId: place.rootId, sourcePath, sourceHash }
}

/** How earlier releases identified a file. */
export const hashOfPath = (path: Buffer): Buffer => createHash('sha256').update(path).digest()
