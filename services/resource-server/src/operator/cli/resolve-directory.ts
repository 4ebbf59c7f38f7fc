import { opendir, readdir, realpath } from 'node:fs/promises'
import path from 'node:path'
import { CommandFailure } from './exit.js'
import { reasonOf } from './reason-of.js'

export type ResolvedDirectory = {
  directory: Buffer
  /** Undefined if the directory exists. */
  gone:
    | undefined
    | { reason: string /** The closest existing directory around it has no entry. */; mayBeUnmounted: boolean }
}

/**
 * Resolves links, because files are identified by their paths: a link to the directory must give the same paths.
 * @throws {CommandFailure} for a directory that exists but cannot be read
 */
export async function resolveDirectory(given: string): Promise<ResolvedDirectory> {
  try {
    const directory = await realpath(given, { encoding: 'buffer' })
    await (await opendir(directory)).close()
    return { directory, gone: undefined }
  } catch (error) {
    const reason = reasonOf(error)
    const gone = reason === 'ENOENT' ? await resolveGone(given, reason) : undefined
    if (gone === undefined) throw unreadable(given, reason)
    return gone
  }
}

export const unreadable = (given: string, reason: string): CommandFailure =>
  new CommandFailure('failed', `${given} cannot be read as a directory (${reason})`)

/** The path that the directory had: links are resolved as far as the path exists. */
async function resolveGone(given: string, reason: string): Promise<ResolvedDirectory | undefined> {
  const absolute = path.resolve(given)
  for (let around = path.dirname(absolute); ; around = path.dirname(around)) {
    const real = await realpath(around).catch(() => undefined)
    if (real === undefined && around !== path.dirname(around)) continue
    const entries = real === undefined ? undefined : await readdir(real).catch(() => undefined)
    if (real === undefined || entries === undefined) return undefined
    const directory = Buffer.from(path.join(real, path.relative(around, absolute)))
    return { directory, gone: { reason, mayBeUnmounted: entries.length === 0 } }
  }
}
