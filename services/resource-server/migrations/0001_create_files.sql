-- One row for each imported file of a user.
create table files (
  file_id uuid primary key,
  -- The user_id of the authorization server. Its database is separate, so there is no foreign key.
  owner_id text not null,
  -- The path, for display; invalid UTF-8 is replaced by U+FFFD.
  source_path text not null,
  -- SHA-256 of the path's bytes. The next import finds the row by it. The path itself may be too long for an index, and
  -- need not be valid text.
  source_hash bytea not null,
  -- An index entry has at most 2,704 bytes. No file system allows names over 255 characters.
  name text not null constraint files_name_length check (octet_length(name) <= 1020),
  -- Without parameters; no longer than RFC 6838 §4.2 allows.
  mime_type text not null constraint files_mime_type_length check (octet_length(mime_type) <= 255),
  -- The kinds of src/files/file-scopes.ts; files.test.ts inserts each.
  kind text not null check (kind in ('documents', 'images', 'media', 'other')),
  size bigint not null check (size >= 0),
  -- In milliseconds, as in responses and page tokens: a finer time could not be continued from a page token. RFC 3339 has no
  -- times outside these years.
  created_at timestamptz(3) not null
    constraint files_created_at_range check (created_at >= '0001-01-01Z' and created_at < '10000-01-01Z'),
  modified_at timestamptz(3) not null
    constraint files_modified_at_range check (modified_at >= '0001-01-01Z' and modified_at < '10000-01-01Z'),
  unique (owner_id, source_hash)
);

-- The order of GET /v1/files, for all files and for single kinds. Both indexes contain all columns of the response: an import
-- writes rows in the order of directories, so without this each file of a page would be on another page of the table. A page
-- of 100 files reads 7 pages instead of 106. Each index needs about 60 MB for a million files.
create index files_listed on files (owner_id, created_at desc, file_id)
  include (name, mime_type, size, modified_at);
create index files_listed_by_kind on files (owner_id, kind, created_at desc, file_id)
  include (name, mime_type, size, modified_at);
