import type { Statement } from '@valetkey/service-kit'
import type { FileQuery } from './file-record.js'

/**
 * The statement of one page. Every part of it reads one stretch of one index in order and stops at the limit, so that
 * page 10,000 costs what page 1 costs: one stretch a kind, and behind a position one for the files of that very instant
 * and one for all older ones (a single condition over both would read and drop the whole instant, which after an
 * unpacked archive may be every file there is).
 *
 * The page leaves as it is put together here: objects made of its rows would cost the server several times as much. One
 * file more than asked for is read, for whether there is a next page is known only by seeing its first file.
 */
export function listStatement({ ownerId, kinds, after, limit }: FileQuery): Statement {
  const values: unknown[] = [ownerId, limit]
  const positions = ['']
  if (after !== undefined) {
    values.push(after.createdAt.toISOString(), after.fileId)
    positions.splice(0, 1, 'and created_at = $3 and file_id > $4', 'and created_at < $3')
  }
  const kindConditions = kinds === 'all' ? [''] : kinds.map((kind) => `and kind = $${values.push(kind)}`)
  const stretches = kindConditions.flatMap((kind) => positions.map((position) => stretch(kind, position)))
  return {
    name: `list_files_${kinds === 'all' ? 'all' : kinds.length}_${after === undefined ? 'first' : 'next'}`,
    text: `
      select coalesce(string_agg(${FILE_JSON}, ',') filter (where place <= $2), '') as files_json,
             max(file_id::text) filter (where place = $2) as end_id,
             max((extract(epoch from created_at) * 1000)::bigint) filter (where place = $2) as end_created_ms,
             count(*) > $2 as has_more
      from (select ${COLUMNS}, row_number() over (${ORDER}) as place
            from (${stretches.join(' union all ')}) as stretches ${ORDER} limit $2 + 1) as page`,
    values
  }
}

/** As far as a page may go: list-files-schema.ts lets nobody ask for more. */
const LARGEST_PAGE = 1_000
const COLUMNS = 'file_id, name, mime_type, size, created_at, modified_at'
const ORDER = 'order by created_at desc, file_id'

/**
 * With a number alone as its limit: of a parameter Postgres expects a tenth of all files, finds the plan that it could keep
 * dear, and plans each page anew, which takes longer than reading it.
 */
function stretch(kindCondition: string, positionCondition: string): string {
  const files = `select ${COLUMNS} from files where owner_id = $1 ${kindCondition} ${positionCondition} ${ORDER}`
  return `(select ${COLUMNS} from (${files} limit ${LARGEST_PAGE + 1}) as stretch ${ORDER} limit $2 + 1)`
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
