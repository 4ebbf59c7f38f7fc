-- What apps may list: one row for each file that was imported for a user.
create table files (
  file_id uuid primary key,
  -- The user's id at the authorization server. Its database is another one, so nothing here can refer to it.
  owner_id text not null,
  -- Where the file is, for people; bytes that are not UTF-8 are shown as replacement characters.
  source_path text not null,
  -- SHA-256 of the path's bytes, by which a second import finds the row again. A path may be longer than an index
  -- entry can be, and need not be text.
  source_digest bytea not null,
  -- An index entry holds 2,704 bytes at most. No file system has longer names than 255 characters.
  name text not null constraint files_name_length check (octet_length(name) <= 1020),
  -- Without parameters; no longer than RFC 6838 §4.2 allows.
  mime_type text not null constraint files_mime_type_length check (octet_length(mime_type) <= 255),
  kind text not null check (kind in ('documents', 'images', 'media', 'other')),
  size bigint not null check (size >= 0),
  -- Milliseconds, as in the answers: with finer ones a page could not be continued from what the answer says. RFC 3339, which
  -- the answers use, cannot express times outside these years.
  created_at timestamptz(3) not null
    constraint files_created_at_range check (created_at >= '0001-01-01Z' and created_at < '10000-01-01Z'),
  modified_at timestamptz(3) not null
    constraint files_modified_at_range check (modified_at >= '0001-01-01Z' and modified_at < '10000-01-01Z'),
  unique (owner_id, source_digest)
);

-- The order of GET /v1/files, for tokens that cover all files and for those that cover some kinds. They cover all columns of the
-- answer: imports come in the order of directories and not of times, so that each file of a page would else be on another page
-- of the table: 106 pages read for 100 files become 7. The price is about 60 MB for each index and million files.
create index files_listed on files (owner_id, created_at desc, file_id)
  include (name, mime_type, size, modified_at);
create index files_listed_by_kind on files (owner_id, kind, created_at desc, file_id)
  include (name, mime_type, size, modified_at);
