import type { Statement } from '@valetkey/service-kit'
import type { FileQuery } from './file-record.js'

/**
 * The statement of one page. Every part of it reads one stretch of one index in order and stops at the limit, so that
 * page 10,000 costs what page 1 costs: one stretch a kind, and behind a position one for the files of that very instant
 * and one for all older ones (a single condition over both would read and drop the whole instant, which after an
 * unpacked archive may be every file there is).
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
    text: `select ${COLUMNS} from (${stretches.join(' union all ')}) as stretches ${ORDER}`,
    values
  }
}

const COLUMNS = 'file_id, name, mime_type, size, created_at, modified_at'
const ORDER = 'order by created_at desc, file_id limit $2'

function stretch(kindCondition: string, positionCondition: string): string {
  return `(select ${COLUMNS} from files where owner_id = $1 ${kindCondition} ${positionCondition} ${ORDER})`
}
