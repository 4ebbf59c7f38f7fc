-- Logos of clients as this server encoded them (docs/adr/0033-logos.md). Two clients with the same logo share a row; a row
-- without a client is deleted later.
create table client_logos (
  -- SHA-256 of the image, hexadecimal; also its address.
  hash text primary key check (hash ~ '^[0-9a-f]{64}$'),
  -- PNG.
  image bytea not null check (octet_length(image) <= 400000),
  created_at timestamptz not null
);

create table clients (
  -- As long as the URL of a client's metadata document may be.
  client_id text primary key constraint client_id_length check (length(client_id) <= 500),
  -- Registered by an operator; discovered: the id is the URL of a metadata document, and the row has what it said when a user
  -- allowed the client last (docs/adr/0031-client-id-metadata-documents.md); developer: registered by a user (docs/adr/0034-users-register-apps.md).
  origin text not null default 'registered' check (origin in ('registered', 'discovered', 'developer')),
  name text not null,
  -- The one or two forms of the name of a registered client in which look-alikes are equal (docs/adr/0046-look-alike-names.md),
  -- with the version of the rules. Null for others, whose names app_names has, unless an operator renamed them.
  name_keys text[],
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
  audiences text[] not null default '{}',
  -- When a user last allowed a discovered client, to the hour; null for other clients.
  last_allowed_at timestamptz,
  -- False: only owners and testers of the app can allow it.
  published boolean not null default true,
  -- False: no operator has seen the redirect URIs in effect, because a user chose them.
  reviewed boolean not null default true,
  -- What pages show beside the name; null: nothing.
  home_page text check (length(home_page) between 1 and 2000),
  publisher text check (length(publisher) between 1 and 80),
  privacy_policy text check (length(privacy_policy) between 1 and 2000),
  terms text check (length(terms) between 1 and 2000),
  logo text references client_logos
);

create index clients_name_keys on clients using gin (name_keys);
create index clients_logo on clients (logo) where logo is not null;

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
