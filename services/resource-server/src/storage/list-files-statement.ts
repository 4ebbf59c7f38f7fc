import type { Statement } from '@valetkey/service-kit'
import type { FileQuery } from './file-record.js'

/**
 * One statement for the pages of concurrent requests; it returns one row for each page. Each part of a page reads one range
 * of one index in order and stops at the limit, so page 10,000 costs as much as page 1. There is one range for each kind.
 * After a position there are two: the files with the same created_at, and the older files. A single condition for both would
 * read and drop all files with that created_at, which after unpacking an archive may be all files of the user. A selection has at
 * most 1,000 files: it is one range, which is read completely.
 *
 * Postgres writes the JSON: building objects from the rows would cost the service several times as much. The statement reads
 * one file more than requested, to find out whether there is a next page.
 * @param queries of one shape
 */
export function listStatement(queries: readonly FileQuery[]): Statement {
  const shape = shapeOf(queries[0])
  const { kinds, isNext, isSelected } = shape
  const lists: readonly unknown[][] = [
    queries.map(({ ownerId }) => ownerId),
    queries.map(({ limit }) => limit),
    ...(isNext
      ? [queries.map(({ after }) => after?.createdAt.toISOString()), queries.map(({ after }) => after?.fileId)]
      : []),
    ...Array.from({ length: kinds === 'all' ? 0 : kinds }, (_, place) => queries.map((query) => query.kinds[place])),
    ...(isSelected ? [queries.map(({ selectionId }) => selectionId)] : [])
  ]
  return { name: `list_files_${shape.name}`, text: textOf(shape), values: lists }
}

type Shape = {
  name: string
  /** How many. */
  kinds: 'all' | number
  isNext: boolean
  isSelected: boolean
}

/** Queries of the same shape can share a statement. */
export function shapeOf(query: FileQuery | undefined): Shape {
  const kinds = query === undefined || query.kinds === 'all' ? 'all' : query.kinds.length
  const isNext = query?.after !== undefined
  const isSelected = kinds !== 'all' && query?.selectionId !== undefined
  const name = `${kinds}_${isNext ? 'next' : 'first'}${isSelected ? '_selected' : ''}`
  return { name, kinds, isNext, isSelected }
}

const texts = new Map<string, string>()

function textOf(shape: Shape): string {
  const known = texts.get(shape.name)
  if (known !== undefined) return known
  const text = writeText(shape)
  texts.set(shape.name, text)
  return text
}

function writeText({ kinds, isNext, isSelected }: Shape): string {
  const kindColumns = Array.from({ length: kinds === 'all' ? 0 : kinds }, (_, place) => `kind_${place}`)
  const columns = [
    ['owner_id', 'text'],
    ['page_size', 'int'],
    ...(isNext
      ? [
          ['after_at', 'timestamptz'],
          ['after_id', 'uuid']
        ]
      : []),
    ...kindColumns.map((column) => [column, 'text']),
    ...(isSelected ? [['selection_id', 'uuid']] : [])
  ]
  const positions = isNext
    ? ['and created_at = requested.after_at and file_id > requested.after_id', 'and created_at < requested.after_at']
    : ['']
  const kindConditions = kinds === 'all' ? [''] : kindColumns.map((column) => `and kind = requested.${column}`)
  const ranges = kindConditions.flatMap((kind) => positions.map((position) => range(kind, position)))
  if (isSelected) ranges.push(selectedRange(kindColumns, isNext))
  return `
    select requested.number, page.*
    from unnest(${columns.map(([, type], place) => `$${place + 1}::${type}[]`).join(', ')}) with ordinality
      as requested (${columns.map(([column]) => column).join(', ')}, number)
    cross join lateral (
      select coalesce(string_agg(${FILE_JSON}, ',') filter (where place <= requested.page_size), '') as files_json,
             max(file_id::text) filter (where place = requested.page_size) as end_id,
             max((extract(epoch from created_at) * 1000)::bigint) filter (where place = requested.page_size) as end_created_ms,
             count(*) > requested.page_size as has_more,
             least(count(*), requested.page_size)::int as file_count
      from (select ${COLUMNS}, row_number() over (${ORDER}) as place
            from (${ranges.join(' union all ')}) as ranges ${ORDER} limit requested.page_size + 1) as files
    ) as page`
}

/** The maximum page_size in list-files-schema.ts. */
const LARGEST_PAGE = 1_000
const COLUMNS = 'file_id, name, mime_type, size, created_at, modified_at'
const ORDER = 'order by created_at desc, file_id'

/** The inner limit is a constant: with a parameter, Postgres plans for a tenth of all files. */
function range(kindCondition: string, positionCondition: string): string {
  const files = `select ${COLUMNS} from files where owner_id = requested.owner_id ${kindCondition} ${positionCondition} ${ORDER}`
  return `(select ${COLUMNS} from (${files} limit ${LARGEST_PAGE + 1}) as one_range ${ORDER} limit requested.page_size + 1)`
}

/**
 * The files of a selection that are of no other range. Each `offset 0` keeps Postgres from joining in another order: with outdated
 * statistics it would read all files of the user.
 */
function selectedRange(kindColumns: readonly string[], isNext: boolean): string {
  const otherKinds = kindColumns.map((column) => `and kind <> requested.${column}`).join(' ')
  const position = isNext
    ? 'and (created_at < requested.after_at or (created_at = requested.after_at and file_id > requested.after_id))'
    : ''
  return `(select ${COLUMNS}
    from (select selection_files.file_id as chosen_id from selections join selection_files using (selection_id)
          where selection_id = requested.selection_id and selections.owner_id = requested.owner_id and not is_draft
          offset 0) as chosen
    cross join lateral (select ${COLUMNS} from files
          where file_id = chosen.chosen_id and owner_id = requested.owner_id ${otherKinds} ${position} offset 0) as found
    ${ORDER} limit requested.page_size + 1)`
}

/** One file of the response: files/list-files-schema.ts describes these members, and a test compares the two. */
const FILE_JSON = [
  `'{"id":"' || file_id`,
  `'","name":' || to_json(name)`,
  `',"mime_type":' || to_json(mime_type)`,
  `',"size":' || size`,
  `',"created_at":' || ${rfc3339('created_at')}`,
  `',"modified_at":' || ${rfc3339('modified_at')} || '}'`
].join(' || ')

/**
 * Writes a time in UTC, with three digits of milliseconds, in quotes. to_json omits trailing zeros of the fraction, so one
 * microsecond is added and cut off again. This costs half as much as to_char.
 */
function rfc3339(column: string): string {
  return `left(to_json((${column} at time zone interval '0') + interval '1 microsecond')::text, 24) || 'Z"'`
}
