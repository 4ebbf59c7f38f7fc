-- The files that a running import with --prune has found, so that its memory does not grow with the tree. Unlogged, because
-- the next import of the user deletes these rows first.
create unlogged table import_sightings (
  owner_id text not null,
  source_hash bytea not null,
  primary key (owner_id, source_hash)
);
