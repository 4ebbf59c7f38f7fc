-- The files that an import with --prune has seen so far, so that its memory does not grow with the tree. Unlogged, because the
-- rows are worth nothing after a crash: the next import of the same user begins with an empty table.
create unlogged table import_sightings (
  owner_id text not null,
  source_digest bytea not null,
  primary key (owner_id, source_digest)
);
