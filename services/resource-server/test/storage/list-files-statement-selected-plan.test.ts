import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { connectPostgres, type Database } from '@valetkey/service-kit'
import { listStatement } from '../../src/storage/list-files-statement.js'
import { openFileStore, WITHOUT_LIMITS } from '../support/stored-files.js'

const OWNER = 'many'
const FILES = 100_000
const CHOSEN = 12

let opened: Awaited<ReturnType<typeof openFileStore>>
let session: Database
const selectionId = randomUUID()

beforeAll(async () => {
  opened = await openFileStore()
  session = connectPostgres(opened.url, { connections: 1, ...WITHOUT_LIMITS })
  await run(
    `insert into files (file_id, owner_id, source_path, source_hash, name, mime_type, kind, size, created_at, modified_at)
     select gen_random_uuid(), '${OWNER}', '/' || i, sha256(i::text::bytea), 'file ' || i, 'image/png', 'images', i,
       timestamptz '2020-01-01Z' + (i * 7919 % 100003) * interval '7 s', '2026-01-01Z' from generate_series(1, ${FILES}) i`
  )
  await run(`insert into selections (selection_id, owner_id, is_draft) values ('${selectionId}', '${OWNER}', false)`)
  await run(`insert into selection_files select '${selectionId}', file_id from files order by name limit ${CHOSEN}`)
})
afterAll(async () => {
  await session.close()
  await opened.close()
})

let statements = 0
async function run<Row extends Record<string, unknown>>(text: string) {
  statements += 1
  return session.query<Row>({ name: `statement_${statements}`, text, values: [] })
}

type Node = Readonly<Record<string, unknown>> & { Plans?: Node[] }
const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

/** Pages of the tables and indexes that a page of the list reads, and the rows of files. */
async function explain(mode: string, query: { kinds: readonly string[]; selectionId?: string; isNext: boolean }) {
  const after = query.isNext ? { createdAt: new Date('2026-01-01T00:00:00Z'), fileId: randomUUID() } : undefined
  const { text, values } = listStatement([{ ...query, ownerId: OWNER, after, limit: 100 }])
  const position = query.isNext ? ['timestamptz', 'uuid'] : []
  const types = ['text', 'int', ...position, ...query.kinds.map(() => 'text'), ...(query.selectionId ? ['uuid'] : [])]
  await run(`set plan_cache_mode = ${mode}`)
  await run('deallocate prepare all')
  await run(`prepare page (${types.map((type) => `${type}[]`).join(', ')}) as ${text}`)
  const literals = values.map((list) => `'{"${(list as unknown[]).join('","')}"}'`).join(', ')
  const [row] = await run<{ 'QUERY PLAN': [{ Plan: Node }] }>(
    `explain (analyze, buffers, costs off, timing off, format json) execute page (${literals})`
  )
  const plan = row?.['QUERY PLAN'][0].Plan ?? {}
  const files = nodesOf(plan).filter((node) => node['Relation Name'] === 'files')
  const rows = files.map((node) => Number(node['Actual Rows']) * Number(node['Actual Loops']))
  return {
    pages: Number(plan['Shared Hit Blocks']) + Number(plan['Shared Read Blocks']),
    rows: rows.reduce((sum, read) => sum + read, 0)
  }
}

test.each(
  ['force_custom_plan', 'force_generic_plan'].flatMap((mode) => [
    { mode, statistics: 'none' },
    { mode, statistics: 'new' }
  ])
)('12 chosen of 100,000 files: 12 rows are read ($mode, statistics: $statistics)', async ({ mode, statistics }) => {
  if (statistics === 'new') await run('analyze')
  for (const isNext of [false, true]) {
    const chosen = await explain(mode, { kinds: [], selectionId, isNext })
    expect(chosen.rows).toBeLessThanOrEqual(CHOSEN)
    // Four pages for each file: three levels of the index, and the row. An unselected page of 100 reads as much.
    expect(chosen.pages).toBeLessThanOrEqual(CHOSEN * 4 + 15)
    const ofKind = await explain(mode, { kinds: ['images'], selectionId, isNext })
    expect(ofKind.rows).toBeLessThanOrEqual(CHOSEN + 202)
  }
})
