-- What apps may list: one row a file that was imported for a user.
create table files (
  file_id uuid primary key,
  -- The user's id at the authorization server. Its database is another one, so nothing here can refer to it.
  owner_id text not null,
  -- Where the file lies, for people; bytes that are not UTF-8 are shown as replacement characters.
  source_path text not null,
  -- SHA-256 of the path's bytes: what makes a second import recognise the file. A path may be longer than an index
  -- entry can be, and need not be text.
  source_digest bytea not null,
  name text not null,
  -- Without parameters.
  mime_type text not null,
  kind text not null check (kind in ('documents', 'images', 'media', 'other')),
  size bigint not null check (size >= 0),
  -- Milliseconds, as in the answers: with finer ones a page could not be continued from what the answer says.
  created_at timestamptz(3) not null,
  modified_at timestamptz(3) not null,
  unique (owner_id, source_digest)
);

-- The order of GET /v1/files, for tokens that cover all files and for those that cover some kinds.
create index files_by_owner on files (owner_id, created_at desc, file_id);
create index files_by_owner_and_kind on files (owner_id, kind, created_at desc, file_id);
