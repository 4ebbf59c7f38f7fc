import type { Statement } from '@valetkey/service-kit'
import type { ImportedFile } from './file-record.js'

/**
 * One statement a batch. A file that is known keeps its id, and `created_at` never moves to a later time: editors save by
 * replacing the file, and a file that jumps forward would be listed twice by somebody who is paging.
 * Returns the rows that changed; `xmax` is 0 in those that were not there before.
 */
export function saveStatement(ownerId: string, files: readonly ImportedFile[]): Statement {
  return {
    name: 'save_files',
    text: `
      insert into files as known
        (file_id, owner_id, source_path, source_digest, name, mime_type, kind, size, created_at, modified_at)
      select file_id, $1, source_path, source_digest, name, mime_type, kind, size, created_at, modified_at
      from unnest($2::uuid[], $3::text[], $4::bytea[], $5::text[], $6::text[], $7::text[], $8::bigint[],
                  $9::timestamptz[], $10::timestamptz[])
        as given (file_id, source_path, source_digest, name, mime_type, kind, size, created_at, modified_at)
      on conflict (owner_id, source_digest) do update set
        name = excluded.name,
        mime_type = excluded.mime_type,
        kind = excluded.kind,
        size = excluded.size,
        created_at = least(known.created_at, excluded.created_at),
        modified_at = excluded.modified_at
      where (known.name, known.mime_type, known.kind, known.size, known.created_at, known.modified_at)
        is distinct from (excluded.name, excluded.mime_type, excluded.kind, excluded.size,
                          least(known.created_at, excluded.created_at), excluded.modified_at)
      returning (xmax = 0) as inserted`,
    values: [
      ownerId,
      files.map((file) => file.fileId),
      files.map((file) => file.sourcePath),
      files.map((file) => file.sourceDigest),
      files.map((file) => file.name),
      files.map((file) => file.mimeType),
      files.map((file) => file.kind),
      files.map((file) => file.size.toString()),
      files.map((file) => file.createdAt.toISOString()),
      files.map((file) => file.modifiedAt.toISOString())
    ]
  }
}
