-- What an import with --prune has seen so far: scratch paper, so that its memory does not grow with the tree. Unlogged, for
-- after a crash it is worth nothing; the next import of the same user begins with an empty sheet.
create unlogged table import_sightings (
  owner_id text not null,
  source_digest bytea not null,
  primary key (owner_id, source_digest)
);
