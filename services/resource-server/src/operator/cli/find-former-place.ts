import { type BigIntStats, promises } from 'node:fs'
import type { ImportRoot, SampledFile } from '../../storage/import-roots.js'
import { withSlash } from './places.js'

/** The place of the files of a directory when they were imported. `rootId` is undefined for files of earlier releases. */
export type FormerPlace = { rootId: string | undefined; prefix: string; directory: Buffer }

/** The sampled files below a former place, compared with the files at the same paths of the directory. */
type Candidate = FormerPlace & {
  files: number
  /** The files with the same size and modification time. */
  same: number
  sameSize: number
  /** Same, and older than the file itself: a copy that kept its times. */
  copied: number
}

/**
 * Finds a directory that was imported from another path: another mount, or moved. Names alone prove nothing, because two
 * cameras number their pictures alike; so sizes and times must match too. The root may also have been a directory around it.
 */
export async function findFormerPlace(
  directory: Buffer,
  roots: readonly ImportRoot[],
  sample: readonly SampledFile[]
): Promise<FormerPlace | undefined> {
  for (const { rootId, path } of roots) {
    if (await isSameDirectory(path, directory)) return { rootId, prefix: '', directory: path }
  }
  const candidates = await compareSample(directory, roots, sample)
  const ranked = candidates.sort((a, b) => b.same - a.same || b.sameSize - a.sameSize)
  for (const candidate of ranked) if (await isFormerPlace(candidate, directory)) return candidate
  return undefined
}

async function isFormerPlace(candidate: Candidate, directory: Buffer): Promise<boolean> {
  const { rootId, prefix, files, same, sameSize, copied } = candidate
  if (same > 0 && (await isSameDirectory(candidate.directory, directory))) return true
  // The former directory still exists and is another one: only a complete copy replaces it.
  if (await isDirectory(candidate.directory)) return (prefix === '' || rootId === undefined) && copied === files
  return same * 2 >= files || (prefix === '' && sameSize === files)
}

async function compareSample(
  directory: Buffer,
  roots: readonly ImportRoot[],
  sample: readonly SampledFile[]
): Promise<Candidate[]> {
  const candidates = new Map<string, Candidate>()
  for (const file of sample) {
    const root = roots.find(({ rootId }) => rootId === file.rootId)
    // Paths that are not UTF-8 are stored with replacement characters.
    if (file.sourcePath.includes('\ufffd') || (file.rootId !== undefined && root === undefined)) continue
    for (const [prefix, inside] of splitsOf(file.sourcePath)) {
      // Files of earlier releases have absolute paths.
      if (root === undefined && prefix === '') continue
      const key = `${file.rootId} ${prefix}`
      const former = Buffer.from(prefix === '/' ? prefix : prefix.slice(0, -1))
      const candidate = candidates.get(key) ?? {
        rootId: file.rootId,
        prefix,
        directory:
          root === undefined ? former : prefix === '' ? root.path : Buffer.concat([withSlash(root.path), former]),
        files: 0,
        same: 0,
        sameSize: 0,
        copied: 0
      }
      candidates.set(key, candidate)
      count(candidate, file, await statOf(Buffer.concat([withSlash(directory), Buffer.from(inside)])))
    }
  }
  return [...candidates.values()].filter(({ sameSize }) => sameSize > 0)
}

function count(candidate: Candidate, file: SampledFile, stats: BigIntStats | undefined): void {
  candidate.files += 1
  if (!stats?.isFile() || stats.size !== file.size) return
  candidate.sameSize += 1
  if (stats.mtimeMs !== BigInt(file.modifiedAt.getTime())) return
  candidate.same += 1
  if (stats.birthtimeNs > stats.mtimeNs) candidate.copied += 1
}

/** Every way to cut a path into a directory, with a slash at the end, and the path inside it. */
function* splitsOf(path: string): Generator<[string, string]> {
  for (let end = 0; ; end = path.indexOf('/', end) + 1) {
    yield [path.slice(0, end), path.slice(end)]
    if (path.indexOf('/', end) === -1) return
  }
}

const statOf = (path: Buffer) => promises.lstat(path, { bigint: true }).catch(() => undefined)

const isDirectory = async (path: Buffer): Promise<boolean> => (await statOf(path))?.isDirectory() ?? false

async function isSameDirectory(former: Buffer, directory: Buffer): Promise<boolean> {
  const [a, b] = [await statOf(former), await statOf(directory)]
  return a !== undefined && b !== undefined && a.isDirectory() && a.dev === b.dev && a.ino === b.ino
}
