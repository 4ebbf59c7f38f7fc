-- The directories that were imported for a user. A file belongs to one of them and is identified by its path inside it, so the
-- same files are found again when the directory is mounted or moved somewhere else.
create table import_roots (
  root_id uuid primary key,
  owner_id text not null,
  -- Where the directory was seen last: the bytes of its absolute path.
  path bytea not null
);
-- By hash, because a path may be too long for an index.
create unique index import_roots_path on import_roots (owner_id, sha256(path));

-- Null in rows of earlier releases: there source_path is absolute, and source_hash is that of the absolute path. The next
-- import of such a file gives it a root. With a root, source_path is the path inside it, and source_hash covers both.
alter table files add column root_id uuid;
