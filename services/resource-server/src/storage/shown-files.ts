import { type Database, defineStatement, type Statement } from '@valetkey/service-kit'
import type { FilePosition } from './file-record.js'
import type { Draft } from './selections.js'

export const FILES_ON_PAGE = 50
/** A search and a folder look at so many files from the present position on, so that a page never reads a million. */
export const MOST_SEARCHED = 100_000
/** Of folders that the page offers. */
const MOST_FOLDERS = 500

/** What a page shows. */
export type FileFilter = {
  /** A part of the name, in any case; '' for all. */
  search: string
  /** Of the path, such as `Photos/2026`, with the folders below it; '' for all. */
  folder: string
  /** Only files of the draft. */
  onlyChosen: boolean
}

/** The files after a position, or those before it. */
type From = { after?: FilePosition | undefined; before?: FilePosition | undefined }

export type ShownFile = FilePosition & {
  name: string
  kind: string
  size: bigint
  folder: string
  isChosen: boolean
}

/** @property isNewerThere whether there are newer files @property isCut whether the limit of a search ended it */
type ShownPage = { files: readonly ShownFile[]; isNewerThere: boolean; isOlderThere: boolean; isCut: boolean }

type Row = {
  file_id: string
  name: string
  kind: string
  size: string
  created_at: Date
  folder: string
  is_chosen: boolean
}

/** One row without a file if none is found. */
type PageRow = { scanned: number } & (Row | { file_id: null })

export type ShownFiles = ReturnType<typeof createShownFiles>

/** Without the name at the end. Paths of earlier releases are absolute. */
const PATH = `ltrim(source_path, '/')`
const FOLDER = `rtrim(left(${PATH}, greatest(0, length(${PATH}) - length(name))), '/')`

/** The files of a user as the page for choosing shows them. */
export function createShownFiles(database: Database) {
  return {
    /** One page, newest first. */
    async page(draft: Draft, filter: FileFilter, from: From): Promise<ShownPage> {
      const isBack = from.before !== undefined
      const all = await database.query<PageRow>(statementOf(draft, filter, from))
      const rows = all.flatMap((row) => (row.file_id === null ? [] : [row as Row]))
      const more = rows.length > FILES_ON_PAGE
      const files = rows.slice(0, FILES_ON_PAGE).map(toFile)
      return {
        files: isBack ? files.toReversed() : files,
        isNewerThere: isBack ? more : from.after !== undefined,
        isOlderThere: isBack || more,
        isCut: (all[0]?.scanned ?? 0) >= MOST_SEARCHED
      }
    },

    /** At most 1,000 files that a filter finds, newest first. */
    async found(draft: Draft, filter: FileFilter, limit: number): Promise<readonly string[]> {
      const rows = await database.query<{ file_id: string }>(findFiles(filter)({ ...valuesOf(draft, filter), limit }))
      return rows.map(({ file_id }) => file_id)
    },

    /** The folders of the newest files, with those above them. */
    async folders(ownerId: string): Promise<readonly string[]> {
      const rows = await database.query<{ folder: string }>(listFolders({ ownerId }))
      const all = rows.flatMap(({ folder }) =>
        folder.split('/').map((_, at, parts) => parts.slice(0, at + 1).join('/'))
      )
      return [...new Set(all)].filter((folder) => folder !== '').toSorted()
    }
  }
}

const listFolders = defineStatement(
  'list_folders',
  `select distinct ${FOLDER} as folder from (
     select source_path, name from files where owner_id = :ownerId order by created_at desc, file_id limit ${MOST_SEARCHED}
   ) as newest order by folder limit ${MOST_FOLDERS}`
)

/** Without ICU, a database in the locale C does not know the lower case of Ü. Macs write it as two characters in names. */
const folded = (text: string) => `lower(normalize(${text}) collate "und-x-icu") collate "C"`

const MATCHES = `(:search = '' or strpos(${folded('name')}, ${folded(':search::text')}) > 0)
  and (:folder = '' or ${FOLDER} = :folder or starts_with(${PATH}, :folder || '/'))`

const COLUMNS = 'file_id, name, kind, size, created_at, source_path'

/** Where files are searched. The limits are constants: with a parameter, Postgres plans for a tenth of all files. */
function scanned({ search, folder, onlyChosen }: FileFilter, condition: string, order: string): string {
  if (onlyChosen) {
    return `select ${COLUMNS} from (select file_id from selection_files where selection_id = :draftId offset 0) as chosen
      join files using (file_id) where owner_id = :ownerId ${condition}`
  }
  const limit = search === '' && folder === '' ? FILES_ON_PAGE + 1 : MOST_SEARCHED
  return `select ${COLUMNS} from files where owner_id = :ownerId ${condition} order by ${order} limit ${limit}`
}

const nameOf = (filter: FileFilter) =>
  filter.onlyChosen ? 'chosen' : filter.search === '' && filter.folder === '' ? 'all' : 'filtered'

const NEWEST_FIRST = 'created_at desc, file_id'
const NEWEST_LAST = 'created_at, file_id desc'
const AFTER = 'and created_at <= :at and (created_at < :at or file_id > :id)'
const BEFORE = 'and created_at >= :at and (created_at > :at or file_id < :id)'

function statementOf(draft: Draft, filter: FileFilter, { after, before }: From): Statement {
  const [condition, order] = before === undefined ? [AFTER, NEWEST_FIRST] : [BEFORE, NEWEST_LAST]
  const position = before ?? after
  const show = defineStatement(
    `show_${nameOf(filter)}_files_${before === undefined ? 'after' : 'before'}`,
    `with scanned as (${scanned(filter, condition, order)})
     select found.*, counted.scanned from (select count(*)::int as scanned from scanned) as counted
     left join lateral (
       select file_id, name, kind, size, created_at, ${FOLDER} as folder, exists (
         select from selection_files as chosen
         where chosen.selection_id = :draftId and chosen.file_id = scanned.file_id) as is_chosen
       from scanned where ${MATCHES} order by ${order} limit ${FILES_ON_PAGE + 1}) as found on true
     order by ${order}`
  )
  return show({
    ...valuesOf(draft, filter),
    at: position?.createdAt.toISOString() ?? 'infinity',
    id: position?.fileId ?? NO_FILE
  } as never)
}

const NO_FILE = '00000000-0000-0000-0000-000000000000'

function findFiles(filter: FileFilter) {
  return defineStatement(
    `find_${nameOf(filter)}_files`,
    `select file_id from (${scanned(filter, '', NEWEST_FIRST)}) as scanned
     where ${MATCHES} and :draftId::uuid is not null order by ${NEWEST_FIRST} limit :limit`
  ) as (values: object) => Statement
}

const valuesOf = ({ draftId, ownerId }: Draft, { search, folder }: FileFilter) => ({ draftId, ownerId, search, folder })

function toFile(row: Row): ShownFile {
  const { file_id: fileId, name, kind, folder } = row
  return {
    fileId,
    name,
    kind,
    folder,
    size: BigInt(row.size),
    createdAt: row.created_at,
    isChosen: row.is_chosen
  }
}
