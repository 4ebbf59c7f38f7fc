import type { FilePosition } from '../storage/file-record.js'
import type { FileFilter } from '../storage/shown-files.js'
import { UUID } from './start-choice.js'

/** What a page shows, as its address says it: `?q=…&folder=…&chosen=1&after=…`. */
export type View = FileFilter & { after: FilePosition | undefined; before: FilePosition | undefined }

/** A query or a form, as the parsers of Fastify read them: repeated parameters are lists. */
export type Parameters = Readonly<Record<string, string | string[] | undefined>>

const LONGEST = 500

/** Ignores what it cannot read. */
export function readView(parameters: Parameters): View {
  return {
    search: readText(parameters.q).trim(),
    folder: readText(parameters.folder),
    onlyChosen: parameters.chosen === '1',
    after: readPosition(parameters.after),
    before: parameters.after === undefined ? readPosition(parameters.before) : undefined
  }
}

/** @returns the query with its question mark; '' for all files from the newest on */
export function writeView({ search, folder, onlyChosen, after, before }: Partial<View>): string {
  const query = new URLSearchParams()
  if (search) query.set('q', search)
  if (folder) query.set('folder', folder)
  if (onlyChosen) query.set('chosen', '1')
  if (after) query.set('after', writePosition(after))
  if (before) query.set('before', writePosition(before))
  return query.size === 0 ? '' : `?${query}`
}

export const writePosition = ({ createdAt, fileId }: FilePosition): string => `${createdAt.getTime()}_${fileId}`

/** Of files, the ids of a form. */
export function readIds(value: string | string[] | undefined): string[] {
  return (Array.isArray(value) ? value : [value]).filter((id): id is string => id !== undefined && UUID.test(id))
}

/** Postgres refuses NUL and halves of surrogate pairs. */
function readText(value: string | string[] | undefined): string {
  return typeof value === 'string' ? value.slice(0, LONGEST).replace(/[\p{Cc}\p{Cs}]/gu, '') : ''
}

export function readPosition(value: string | string[] | undefined): FilePosition | undefined {
  const [, milliseconds, fileId = ''] = /^(-?\d{1,15})_(.+)$/.exec(typeof value === 'string' ? value : '') ?? []
  const time = Number(milliseconds)
  return UUID.test(fileId) && time >= EARLIEST && time <= LATEST ? { createdAt: new Date(time), fileId } : undefined
}

/** The times that files may have. */
const EARLIEST = Date.UTC(1, 0) - 1899 * 31_556_952_000
const LATEST = Date.UTC(9999, 11, 31)
