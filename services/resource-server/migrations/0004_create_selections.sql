-- The files that a user chose for an app. The authorization server has the id as the identifier of an authorization detail.
create table selections (
  selection_id uuid primary key,
  owner_id text not null,
  -- What a user has ticked so far: no token has the id.
  is_draft boolean not null,
  created_at timestamptz not null default now()
);
-- Finds the oldest ones of a user.
create index selections_of_owner on selections (owner_id, created_at);

-- A file that is deleted leaves every selection. A selection that lost all of its files stays, and lists nothing.
create table selection_files (
  selection_id uuid not null references selections on delete cascade,
  file_id uuid not null references files on delete cascade,
  primary key (selection_id, file_id)
);
create index selection_files_of_file on selection_files (file_id);
