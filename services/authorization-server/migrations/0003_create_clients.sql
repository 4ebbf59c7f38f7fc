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
  -- Seconds, used only where they are shorter than the server's setting; null: the server's setting.
  access_token_ttl integer check (access_token_ttl > 0),
  refresh_token_idle_ttl integer check (refresh_token_idle_ttl > 0),
  refresh_token_max_ttl integer check (refresh_token_max_ttl > 0),
  -- Raised when the client is disabled: tokens with an older number have ended (ADR 0005).
  generation integer not null default 0,
  -- Raised when an operator ends all grants to the client: see authorizations.generation.
  authorization_generation integer not null default 0,
  created_at timestamptz not null,
  -- When an operator confirmed who runs this client.
  verified_at timestamptz,
  disabled_at timestamptz,
  -- Resource identifiers of the APIs that the client is limited to; empty: the APIs of its scopes.
  audiences text[] not null default '{}'
);

-- Two secrets may be valid at once while one replaces the other (ADR 0020).
create table client_secrets (
  client_id text not null references clients on delete cascade,
  secret_hash bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  -- To within a few minutes. It shows whether the old secret can be deleted.
  last_used_at timestamptz,
  primary key (client_id, secret_hash)
);
