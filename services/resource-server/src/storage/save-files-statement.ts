import { defineStatement, type Statement } from '@valetkey/service-kit'
import type { ImportedFile } from './file-record.js'

const GIVEN = `unnest(:fileIds::uuid[], :sourcePaths::text[], :sourceHashes::bytea[], :names::text[], :mimeTypes::text[],
      :kinds::text[], :sizes::bigint[], :createdAt::timestamptz(3)[], :modifiedAt::timestamptz(3)[], :rootIds::uuid[],
      :unrootedHashes::bytea[])
    as given (file_id, source_path, source_hash, name, mime_type, kind, size, created_at, modified_at, root_id,
      unrooted_hash)`

const saveFiles = defineStatement(
  'save_files',
  `insert into files as known
    (file_id, owner_id, root_id, source_path, source_hash, name, mime_type, kind, size, created_at, modified_at)
  select file_id, :ownerId, root_id, source_path, source_hash, name, mime_type, kind, size, created_at, modified_at
  from ${GIVEN} order by source_hash
  on conflict (owner_id, source_hash) do update set
    name = excluded.name, mime_type = excluded.mime_type, kind = excluded.kind, size = excluded.size,
    modified_at = excluded.modified_at
  where (known.name, known.mime_type, known.kind, known.size, known.modified_at)
    is distinct from (excluded.name, excluded.mime_type, excluded.kind, excluded.size, excluded.modified_at)
  returning (xmax = 0) as inserted`
)

const moveFiles = defineStatement(
  'move_files',
  `with found as (
    select old.file_id, given.root_id, given.source_path, given.source_hash
    from unnest(:unrootedHashes::bytea[], :rootIds::uuid[], :sourcePaths::text[], :sourceHashes::bytea[])
      as given (unrooted_hash, root_id, source_path, source_hash)
    join files old on old.owner_id = :ownerId and old.source_hash = given.unrooted_hash and old.root_id is null
    where not exists (select 1 from files where owner_id = :ownerId and files.source_hash = given.source_hash)
    order by old.source_hash for update of old)
  update files set root_id = found.root_id, source_path = found.source_path, source_hash = found.source_hash
  from found where files.file_id = found.file_id`
)

const compareFiles = defineStatement(
  'compare_files',
  `select known.file_id is null as inserted
  from ${GIVEN}
  left join lateral (
    select file_id, name, mime_type, kind, size, modified_at from files
    where owner_id = :ownerId and source_hash = any (array[given.source_hash, given.unrooted_hash])
    order by root_id limit 1) as known on true
  where known.file_id is null
    or (known.name, known.mime_type, known.kind, known.size, known.modified_at)
      is distinct from (given.name, given.mime_type, given.kind, given.size, given.modified_at)`
)

/**
 * One statement for a batch. A known file keeps its id and its `created_at`, which is its place in the list: editors save by
 * replacing the file, and a file that moves while a client is paging would be listed twice or not at all. Rows are locked in
 * the order of the path hashes, so that two imports of the same files cannot deadlock.
 * Returns the changed rows; `xmax` is 0 in inserted rows.
 */
export function saveStatement(ownerId: string, files: readonly ImportedFile[]): Statement {
  return saveFiles({ ownerId, ...valuesOf(files) })
}

/**
 * Gives files of earlier releases their root, so that `saveStatement` finds them and they keep their ids. Rows are locked in
 * the order of the hashes, as there.
 */
export function moveStatement(ownerId: string, files: readonly ImportedFile[]): Statement {
  return moveFiles({ ownerId, ...valuesOf(files.filter(({ unrootedHash }) => unrootedHash !== undefined)) })
}

/** Returns what `saveStatement` would return, without writing. */
export function compareStatement(ownerId: string, files: readonly ImportedFile[]): Statement {
  return compareFiles({ ownerId, ...valuesOf(files) })
}

function valuesOf(files: readonly ImportedFile[]) {
  return {
    fileIds: files.map((file) => file.fileId),
    sourcePaths: files.map((file) => file.sourcePath),
    sourceHashes: files.map((file) => file.sourceHash),
    names: files.map((file) => file.name),
    mimeTypes: files.map((file) => file.mimeType),
    kinds: files.map((file) => file.kind),
    sizes: files.map((file) => file.size.toString()),
    createdAt: files.map((file) => file.createdAt.toISOString()),
    modifiedAt: files.map((file) => file.modifiedAt.toISOString()),
    rootIds: files.map((file) => file.rootId),
    unrootedHashes: files.map((file) => file.unrootedHash ?? null)
  }
}
