import type { ImportRoot, ImportRoots } from '../../storage/import-roots.js'
import { type FormerPlace, findFormerPlace } from './find-former-place.js'
import { isBelow, type Place, pathInside, placeIn, placesBelow, withSlash } from './places.js'

export type ResolvedPlaces = {
  /** The imported directory, and roots below it. */
  places: readonly Place[]
  /** The path by which earlier releases knew the directory; undefined if the user has no files of them. */
  unrooted: Buffer | undefined
  /** The place of the directory before, if it has moved. */
  movedFrom: Buffer | undefined
}

type Deps = { roots: ImportRoots; makeRootId: () => string; dryRun: boolean }

/** Finds the root of a directory, and records where it is now. The directory of a first import becomes a new root. */
export async function resolvePlaces(
  ownerId: string,
  directory: Buffer,
  { roots: store, makeRootId, dryRun }: Deps
): Promise<ResolvedPlaces> {
  const roots = await store.list(ownerId)
  const isUnrootedHere = await store.hasUnrooted(ownerId, withSlash(directory).toString('utf8'))
  const hasUnrooted = isUnrootedHere || (await store.hasUnrooted(ownerId))
  const known = placeIn(roots, directory)
  if (known !== undefined || isUnrootedHere) {
    return {
      places: [known ?? (await newPlace()), ...placesBelow(roots, directory)],
      unrooted: hasUnrooted ? directory : undefined,
      movedFrom: undefined
    }
  }
  const elsewhere = roots.filter(({ path }) => !isBelow(path, directory))
  const former =
    elsewhere.length > 0 || hasUnrooted
      ? await findFormerPlace(directory, elsewhere, await store.sample(ownerId))
      : undefined
  const moves = former === undefined ? [] : movesOf(former, directory, roots)
  if (moves.length > 0 && !dryRun) await store.move(ownerId, moves)
  const now = roots.map((root) => moves.find(({ rootId }) => rootId === root.rootId) ?? root)
  const place = former?.rootId === undefined ? await newPlace() : placeOf(former, former.rootId, directory)
  return {
    places: [place, ...placesBelow(now, directory)],
    unrooted: hasUnrooted
      ? former !== undefined && former.rootId === undefined
        ? former.directory
        : directory
      : undefined,
    movedFrom: former?.directory
  }

  async function newPlace(): Promise<Place> {
    const root = { rootId: makeRootId(), path: directory }
    const rootId = dryRun ? root.rootId : await store.add(ownerId, root)
    return { directory, rootId, prefix: Buffer.alloc(0) }
  }
}

/** The places of a directory that no longer exists. */
export async function placesOfGone(ownerId: string, directory: Buffer, store: ImportRoots): Promise<Place[]> {
  const roots = await store.list(ownerId)
  const known = placeIn(roots, directory)
  return [...(known === undefined ? [] : [known]), ...placesBelow(roots, directory)]
}

const placeOf = ({ prefix }: FormerPlace, rootId: string, directory: Buffer): Place => ({
  directory,
  rootId,
  prefix: Buffer.from(prefix)
})

/** The root has moved with the directory, and other roots inside it have too. */
function movesOf({ rootId, prefix }: FormerPlace, directory: Buffer, roots: readonly ImportRoot[]): ImportRoot[] {
  const root = roots.find((candidate) => candidate.rootId === rootId)
  if (root === undefined) return []
  const end = Buffer.from(`/${prefix}`)
  const isInside = prefix === '' || withSlash(directory).subarray(-end.length).equals(end)
  // The directory alone was mounted elsewhere, under another name: where its root is now is unknown.
  if (!isInside) return []
  const length = withSlash(directory).length - Buffer.byteLength(prefix) - 1
  const path = prefix === '' ? directory : directory.subarray(0, Math.max(1, length))
  const inside = roots
    .filter((candidate) => isBelow(candidate.path, root.path))
    .map((candidate) => ({
      rootId: candidate.rootId,
      path: Buffer.concat([withSlash(path), pathInside(candidate.path, root.path)])
    }))
  const others = roots.filter((candidate) => candidate.rootId !== rootId).map((candidate) => candidate.path)
  return [{ rootId: root.rootId, path }, ...inside].filter((move) => !others.some((other) => other.equals(move.path)))
}
