import { type Database, defineStatement } from '@valetkey/service-kit'

/** A directory that was imported for a user, and where it was seen last. */
export type ImportRoot = { rootId: string; path: Buffer }

/** A stored file, to find out where its directory is now. `rootId` is undefined in rows of earlier releases. */
export type SampledFile = { rootId: string | undefined; sourcePath: string; size: bigint; modifiedAt: Date }

export type ImportRoots = ReturnType<typeof createImportRoots>

const SAMPLED_ROOTS = 50
const SAMPLED_FILES = 100

type SampleRow = { root_id: string | null; source_path: string; size: string; modified_at: Date }

const addRoot = defineStatement(
  'add_import_root',
  `insert into import_roots (root_id, owner_id, path) values (:rootId, :ownerId, :path)
  on conflict (owner_id, sha256(path)) do update set path = excluded.path returning root_id`
)

const moveRoots = defineStatement(
  'move_import_roots',
  `update import_roots r set path = given.path
  from unnest(:rootIds::uuid[], :paths::bytea[]) as given (root_id, path)
  where r.owner_id = :ownerId and r.root_id = given.root_id`
)

export function createImportRoots(database: Pick<Database, 'query'>) {
  return {
    async list(ownerId: string): Promise<ImportRoot[]> {
      const rows = await database.query<{ root_id: string; path: Buffer }>({
        name: 'list_import_roots',
        text: 'select root_id, path from import_roots where owner_id = $1',
        values: [ownerId]
      })
      return rows.map((row) => ({ rootId: row.root_id, path: row.path }))
    },

    /** Whether the user has files of earlier releases, below this directory if it is given (with a slash at the end). */
    async hasUnrooted(ownerId: string, below = ''): Promise<boolean> {
      const rows = await database.query({
        name: 'find_files_without_root',
        text: `select file_id from files
          where owner_id = $1 and root_id is null and starts_with(source_path, $2) limit 1`,
        values: [ownerId, below]
      })
      return rows.length > 0
    },

    /** Some files of each root, in the order of their hashes, so that they come from all of its directories. */
    async sample(ownerId: string): Promise<SampledFile[]> {
      const rows = await database.query<SampleRow>({
        name: 'sample_import_roots',
        text: `
          select sampled.root_id, sampled.source_path, sampled.size, sampled.modified_at
          from (select null::uuid as root_id
                union all (select root_id from import_roots where owner_id = $1 order by root_id desc limit ${SAMPLED_ROOTS}))
            as roots
          cross join lateral (
            select root_id, source_path, size, modified_at from files f
            where f.owner_id = $1 and f.root_id is not distinct from roots.root_id
            order by f.source_hash limit ${SAMPLED_FILES}) as sampled`,
        values: [ownerId]
      })
      return rows.map((row) => ({
        rootId: row.root_id ?? undefined,
        sourcePath: row.source_path,
        size: BigInt(row.size),
        modifiedAt: row.modified_at
      }))
    },

    /** @returns the id of the root; another one if a concurrent import added the same directory first */
    async add(ownerId: string, { rootId, path }: ImportRoot): Promise<string> {
      const [row] = await database.query<{ root_id: string }>(addRoot({ rootId, ownerId, path }))
      return row?.root_id ?? rootId
    },

    /** Records where these directories are now. */
    async move(ownerId: string, moved: readonly ImportRoot[]): Promise<void> {
      const [rootIds, paths] = [moved.map(({ rootId }) => rootId), moved.map(({ path }) => path)]
      await database.query(moveRoots({ ownerId, rootIds, paths }))
    },

    async forget(ownerId: string): Promise<void> {
      await database.query({
        name: 'forget_import_roots',
        text: 'delete from import_roots where owner_id = $1',
        values: [ownerId]
      })
    }
  }
}
