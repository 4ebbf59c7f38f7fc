import type { Statement } from '@valetkey/service-kit'
import type { FileQuery } from './file-record.js'

/**
 * The statement of some pages, which people ask for at the same time, one row each. Every part of a page reads one stretch of
 * one index in order and stops at the limit, so that page 10,000 costs what page 1 costs: one stretch a kind, and behind a
 * position one for the files of that very instant and one for all older ones (a single condition over both would read and
 * drop the whole instant, which after an unpacked archive may be every file there is).
 *
 * A page leaves as it is put together here: objects made of its rows would cost the server several times as much. One
 * file more than asked for is read, for whether there is a next page is known only by seeing its first file.
 * @param queries of one shape
 */
export function listStatement(queries: readonly FileQuery[]): Statement {
  const shape = shapeOf(queries[0])
  const { kinds, isNext } = shape
  const lists: readonly unknown[][] = [
    queries.map(({ ownerId }) => ownerId),
    queries.map(({ limit }) => limit),
    ...(isNext
      ? [queries.map(({ after }) => after?.createdAt.toISOString()), queries.map(({ after }) => after?.fileId)]
      : []),
    ...Array.from({ length: kinds }, (_, place) => queries.map((query) => query.kinds[place]))
  ]
  return { name: `list_files_${shape.name}`, text: textOf(shape), values: lists }
}

type Shape = { name: string; kinds: number; isNext: boolean }

/** Queries of the same shape can share a statement. */
export function shapeOf(query: FileQuery | undefined): Shape {
  const kinds = query === undefined || query.kinds === 'all' ? 0 : query.kinds.length
  const isNext = query?.after !== undefined
  return { name: `${kinds === 0 ? 'all' : kinds}_${isNext ? 'next' : 'first'}`, kinds, isNext }
}

const texts = new Map<string, string>()

function textOf(shape: Shape): string {
  const known = texts.get(shape.name)
  if (known !== undefined) return known
  const text = writeText(shape)
  texts.set(shape.name, text)
  return text
}

function writeText({ kinds, isNext }: Shape): string {
  const asked = [
    ['owner_id', 'text'],
    ['page_size', 'int'],
    ...(isNext
      ? [
          ['after_at', 'timestamptz'],
          ['after_id', 'uuid']
        ]
      : []),
    ...Array.from({ length: kinds }, (_, place) => [`kind_${place}`, 'text'])
  ]
  const positions = isNext
    ? ['and created_at = asked.after_at and file_id > asked.after_id', 'and created_at < asked.after_at']
    : ['']
  const kindConditions =
    kinds === 0 ? [''] : Array.from({ length: kinds }, (_, place) => `and kind = asked.kind_${place}`)
  const stretches = kindConditions.flatMap((kind) => positions.map((position) => stretch(kind, position)))
  return `
    select asked.number, page.*
    from unnest(${asked.map(([, type], place) => `$${place + 1}::${type}[]`).join(', ')}) with ordinality
      as asked (${asked.map(([column]) => column).join(', ')}, number)
    cross join lateral (
      select coalesce(string_agg(${FILE_JSON}, ',') filter (where place <= asked.page_size), '') as files_json,
             max(file_id::text) filter (where place = asked.page_size) as end_id,
             max((extract(epoch from created_at) * 1000)::bigint) filter (where place = asked.page_size) as end_created_ms,
             count(*) > asked.page_size as has_more
      from (select ${COLUMNS}, row_number() over (${ORDER}) as place
            from (${stretches.join(' union all ')}) as stretches ${ORDER} limit asked.page_size + 1) as files
    ) as page`
}

/** As far as a page may go: list-files-schema.ts lets nobody ask for more. */
const LARGEST_PAGE = 1_000
const COLUMNS = 'file_id, name, mime_type, size, created_at, modified_at'
const ORDER = 'order by created_at desc, file_id'

/** With a number alone as its limit: where it is a parameter, Postgres plans for a tenth of all files. */
function stretch(kindCondition: string, positionCondition: string): string {
  const files = `select ${COLUMNS} from files where owner_id = asked.owner_id ${kindCondition} ${positionCondition} ${ORDER}`
  return `(select ${COLUMNS} from (${files} limit ${LARGEST_PAGE + 1}) as stretch ${ORDER} limit asked.page_size + 1)`
}

/** A file as the answer shows it: files/list-files-schema.ts describes these members, and a test compares the two. */
const FILE_JSON = [
  `'{"id":"' || file_id`,
  `'","name":' || to_json(name)`,
  `',"mime_type":' || to_json(mime_type)`,
  `',"size":' || size`,
  `',"created_at":' || ${rfc3339('created_at')}`,
  `',"modified_at":' || ${rfc3339('modified_at')} || '}'`
].join(' || ')

/**
 * In UTC, always with three digits of milliseconds, in quotes. to_json leaves out zeros at the end of a second's fraction,
 * so there is a microsecond more, which is cut off again: half of what to_char costs.
 */
function rfc3339(column: string): string {
  return `left(to_json((${column} at time zone interval '0') + interval '1 microsecond')::text, 24) || 'Z"'`
}
