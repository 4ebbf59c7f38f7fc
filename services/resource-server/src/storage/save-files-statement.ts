import type { Statement } from '@valetkey/service-kit'
import type { ImportedFile } from './file-record.js'

/**
 * One statement for a batch. A known file keeps its id and its `created_at`, which is its place in the list: editors save by
 * replacing the file, and a file that moves while a client is paging would be listed twice or not at all. Rows are locked in
 * the order of the path hashes, so that two imports of the same files cannot deadlock.
 * Returns the changed rows; `xmax` is 0 in inserted rows.
 */
export function saveStatement(ownerId: string, files: readonly ImportedFile[]): Statement {
  return {
    name: 'save_files',
    text: `
      insert into files as known
        (file_id, owner_id, root_id, source_path, source_hash, name, mime_type, kind, size, created_at, modified_at)
      select file_id, $1, root_id, source_path, source_hash, name, mime_type, kind, size, created_at, modified_at
      from ${GIVEN} order by source_hash
      on conflict (owner_id, source_hash) do update set
        name = excluded.name, mime_type = excluded.mime_type, kind = excluded.kind, size = excluded.size,
        modified_at = excluded.modified_at
      where (known.name, known.mime_type, known.kind, known.size, known.modified_at)
        is distinct from (excluded.name, excluded.mime_type, excluded.kind, excluded.size, excluded.modified_at)
      returning (xmax = 0) as inserted`,
    values: valuesOf(ownerId, files)
  }
}

/**
 * Gives files of earlier releases their root, so that `saveStatement` finds them and they keep their ids. Rows are locked in
 * the order of the hashes, as there.
 */
export function moveStatement(ownerId: string, files: readonly ImportedFile[]): Statement {
  const known = files.filter(({ unrootedHash }) => unrootedHash !== undefined)
  return {
    name: 'move_files',
    text: `
      with found as (
        select old.file_id, given.root_id, given.source_path, given.source_hash
        from unnest($2::bytea[], $3::uuid[], $4::text[], $5::bytea[])
          as given (unrooted_hash, root_id, source_path, source_hash)
        join files old on old.owner_id = $1 and old.source_hash = given.unrooted_hash and old.root_id is null
        where not exists (select 1 from files where owner_id = $1 and files.source_hash = given.source_hash)
        order by old.source_hash for update of old)
      update files set root_id = found.root_id, source_path = found.source_path, source_hash = found.source_hash
      from found where files.file_id = found.file_id`,
    values: [
      ownerId,
      known.map((file) => file.unrootedHash),
      known.map((file) => file.rootId),
      known.map((file) => file.sourcePath),
      known.map((file) => file.sourceHash)
    ]
  }
}

/** Returns what `saveStatement` would return, without writing. */
export function compareStatement(ownerId: string, files: readonly ImportedFile[]): Statement {
  return {
    name: 'compare_files',
    text: `
      select known.file_id is null as inserted
      from ${GIVEN}
      left join lateral (
        select file_id, name, mime_type, kind, size, modified_at from files
        where owner_id = $1 and source_hash = any (array[given.source_hash, given.unrooted_hash])
        order by root_id limit 1) as known on true
      where known.file_id is null
        or (known.name, known.mime_type, known.kind, known.size, known.modified_at)
          is distinct from (given.name, given.mime_type, given.kind, given.size, given.modified_at)`,
    values: valuesOf(ownerId, files)
  }
}

const GIVEN = `unnest($2::uuid[], $3::text[], $4::bytea[], $5::text[], $6::text[], $7::text[], $8::bigint[],
                $9::timestamptz(3)[], $10::timestamptz(3)[], $11::uuid[], $12::bytea[])
        as given (file_id, source_path, source_hash, name, mime_type, kind, size, created_at, modified_at, root_id,
                  unrooted_hash)`

function valuesOf(ownerId: string, files: readonly ImportedFile[]): unknown[] {
  return [
    ownerId,
    files.map((file) => file.fileId),
    files.map((file) => file.sourcePath),
    files.map((file) => file.sourceHash),
    files.map((file) => file.name),
    files.map((file) => file.mimeType),
    files.map((file) => file.kind),
    files.map((file) => file.size.toString()),
    files.map((file) => file.createdAt.toISOString()),
    files.map((file) => file.modifiedAt.toISOString()),
    files.map((file) => file.rootId),
    files.map((file) => file.unrootedHash ?? null)
  ]
}
