create table clients (
  client_id text primary key,
  name text not null,
  type text not null check (type in ('confidential', 'public')),
  redirect_uris text[] not null,
  required_scopes text[] not null,
  optional_scopes text[] not null,
  requires_pkce boolean not null,
  issues_refresh_tokens boolean not null,
  consent text not null check (consent in ('ask', 'remember')),
  -- Raised when the client is disabled: tokens with an older number are dead.
  generation integer not null default 0,
  created_at timestamptz not null,
  disabled_at timestamptz
);

-- Two rows may be live at once while a secret is being replaced.
create table client_secrets (
  client_id text not null references clients on delete cascade,
  secret_hash bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  primary key (client_id, secret_hash)
);
