import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { connectPostgres, type Database } from '@valetkey/service-kit'
import { FILE_KINDS, type FileKind } from '../../src/files/file-scopes.js'
import type { FilePosition } from '../../src/storage/file-record.js'
import { listStatement } from '../../src/storage/list-files-statement.js'
import { openFileStore, WITHOUT_LIMITS } from '../support/stored-files.js'

const PAGE_SIZE = 10
const PAGES = 10_000

let opened: Awaited<ReturnType<typeof openFileStore>>
/** One connection, because settings and prepared statements belong to a session. */
let session: Database

beforeAll(async () => {
  opened = await openFileStore()
  session = connectPostgres(opened.url, { connections: 1, ...WITHOUT_LIMITS })
  // Vacuum marks rows as visible to all only after their commit is on disk; the test servers do not wait for that by default.
  await run('set synchronous_commit = on')
  // One user with 10,000 pages, created_at unrelated to the order of the import; and 1,000 users with few files.
  const times = "timestamptz '2020-01-01Z' + (i * 7919 % 100003) * interval '7 s'"
  await run(fill("'many'", times, PAGES * PAGE_SIZE))
  await run(fill("'one instant'", "timestamptz '2026-01-01Z'", 3_000))
  await run(fill("'other ' || i % 1000", times, 5_000))
  await vacuumAll()
})
afterAll(async () => {
  await session.close()
  await opened.close()
})

const fill = (owner: string, time: string, count: number) => `
  insert into files (file_id, owner_id, source_path, source_hash, name, mime_type, kind, size, created_at, modified_at)
  select gen_random_uuid(), ${owner}, '/' || i, sha256(i::text::bytea), 'file ' || i, 'image/png',
         (array['${FILE_KINDS.join("', '")}'])[1 + i % ${FILE_KINDS.length}], i, ${time}, '2026-01-01Z'
  from generate_series(1, ${count}) i`

/** Repeats until all rows are marked as visible to all, which an open snapshot, for example of autovacuum, can delay. */
async function vacuumAll(): Promise<void> {
  const text = `select relallvisible = relpages as done from pg_class where oid = 'files'::regclass`
  for (;;) {
    await run('vacuum analyze files')
    if ((await run<{ done: boolean }>(text))[0]?.done) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

let statements = 0
async function run<Row extends Record<string, unknown>>(text: string, values: readonly unknown[] = []) {
  statements += 1
  return session.query<Row>({ name: `statement_${statements}`, text, values })
}

type Kinds = 'all' | readonly FileKind[]

/** The end of the last page but one: for all files, page 9,999. */
async function lastPosition(ownerId: string, kinds: Kinds): Promise<FilePosition> {
  const [row] = await run<{ created_at: Date; file_id: string }>(
    `select created_at, file_id from files where owner_id = $1 and ($2::text[] is null or kind = any($2))
     order by created_at, file_id desc offset $3 limit 1`,
    [ownerId, kinds === 'all' ? null : kinds, PAGE_SIZE]
  )
  if (row === undefined) throw new Error(`${ownerId} has no files`)
  return { createdAt: row.created_at, fileId: row.file_id }
}

type Node = Readonly<Record<string, unknown>> & { Plans?: Node[] }
type Explained = { 'QUERY PLAN': [{ Plan: Node }] }

/** The executed plan of one page, custom or generic by `mode`. */
async function explain(mode: string, ownerId: string, kinds: Kinds, after: FilePosition | undefined) {
  const { text, values } = listStatement([{ ownerId, kinds, after, limit: PAGE_SIZE }])
  const types = ['text', 'int', ...(after === undefined ? [] : ['timestamptz', 'uuid'])]
  const kindTypes = kinds === 'all' ? [] : kinds.map(() => 'text')
  await run(`set plan_cache_mode = ${mode}`)
  await run('deallocate prepare all')
  await run(`prepare page (${[...types, ...kindTypes].map((type) => `${type}[]`).join(', ')}) as ${text}`)
  const literals = values.map((list) => `'{"${(list as unknown[]).join('","')}"}'`).join(', ')
  const [row] = await run<Explained>(
    `explain (analyze, buffers, costs off, timing off, format json) execute page (${literals})`
  )
  if (row === undefined) throw new Error('no plan')
  const plan = row['QUERY PLAN'][0].Plan
  return {
    scans: nodesOf(plan).filter((node) => node['Relation Name'] === 'files'),
    pages: Number(plan['Shared Hit Blocks']) + Number(plan['Shared Read Blocks'])
  }
}

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

const every = [
  { ownerId: 'many', kinds: 'all' as const },
  { ownerId: 'many', kinds: ['images'] as const },
  { ownerId: 'many', kinds: ['documents', 'images', 'media'] as const },
  { ownerId: 'one instant', kinds: 'all' as const },
  { ownerId: 'one instant', kinds: ['documents', 'media'] as const },
  { ownerId: 'other 7', kinds: 'all' as const }
]
const modes = ['force_custom_plan', 'force_generic_plan']

test.each(modes.flatMap((mode) => every.map((one) => ({ mode, ...one }))))(
  'first and last page: index-only scans that read at most one row too many ($ownerId, $kinds, $mode)',
  async ({ mode, ownerId, kinds }) => {
    const after = ownerId === 'other 7' ? undefined : await lastPosition(ownerId, kinds)
    for (const position of [undefined, after]) {
      const { scans, pages } = await explain(mode, ownerId, kinds, position)
      expect(scans.map((scan) => scan['Node Type'])).toEqual(scans.map(() => 'Index Only Scan'))
      expect(scans).toHaveLength((kinds === 'all' ? 1 : kinds.length) * (position === undefined ? 1 : 2))
      for (const scan of scans) {
        expect(scan['Heap Fetches']).toBe(0)
        expect(scan['Rows Removed by Filter'] ?? 0).toBe(0)
        expect(scan['Actual Rows']).toBeLessThanOrEqual(PAGE_SIZE + 1)
      }
      // The levels of the index and two leaf pages.
      expect(pages).toBeLessThanOrEqual(scans.length * 6)
    }
  }
)

test('a list that grew since the last analyze is read without a sort', async () => {
  await run(fill("'new'", "timestamptz '2026-01-01Z' + (i * 7919 % 20011) * interval '7 s'", 20_000))
  for (const mode of modes) {
    const { scans } = await explain(mode, 'new', 'all', await lastPosition('new', 'all'))
    for (const scan of scans) expect(scan['Actual Rows']).toBeLessThanOrEqual(PAGE_SIZE + 1)
  }
})

test.each([
  { kinds: 'all' as const, pageSize: 1 },
  { kinds: 'all' as const, pageSize: 100 },
  { kinds: 'all' as const, pageSize: 1_000 },
  { kinds: ['images'] as const, pageSize: 100 },
  { kinds: ['documents', 'images', 'media'] as const, pageSize: 100 }
])('Postgres uses the generic plan for every execution ($kinds, $pageSize)', async ({ kinds, pageSize }) => {
  // The options of the service.
  const fresh = connectPostgres(opened.url, { connections: 1, plans: 'kept' })
  for (const after of [undefined, await lastPosition('many', kinds)]) {
    const statement = listStatement([{ ownerId: 'many', kinds, after, limit: pageSize }])
    const name = `${statement.name} ${pageSize}`
    for (let turn = 0; turn < 10; turn += 1) await fresh.query({ ...statement, name })
    const [plans] = await fresh.query({
      name: `plans of ${name}`,
      text: 'select generic_plans as kept, custom_plans as new from pg_prepared_statements where name = $1',
      values: [name]
    })
    expect(plans).toEqual({ kept: '10', new: '0' })
  }
  await fresh.close()
})
