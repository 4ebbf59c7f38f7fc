-- Users who look after a client that an operator registered (docs/adr/0064-owners-and-reviewers.md). Owners of apps that users registered
-- are in app_owners. A client without owners works as before, and so does one whose owner is disabled or deleted.
create table client_owners (
  client_id text not null references clients on delete cascade,
  user_id uuid not null references users on delete cascade,
  -- Whether the owners may add and end secrets; the same for all owners of a client.
  changes_secrets boolean not null,
  added_at timestamptz not null,
  primary key (client_id, user_id)
);

create index client_owners_user_id on client_owners (user_id);
