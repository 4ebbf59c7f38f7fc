create table floor_tokens (
  token_hash bytea primary key,
  client_id text not null,
  user_id uuid not null,
  scope text not null,
  issued_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz
);

create table floor_files (
  owner_id uuid not null,
  created_at timestamptz not null,
  id uuid not null default gen_random_uuid(),
  name text not null,
  size bigint not null,
  content_type text not null,
  primary key (owner_id, created_at, id)
);
