-- One row for each Allow. No foreign keys here and in the token tables: a deleted user or client is missing from the
-- join of introspection, which ends all tokens in one write, and the rows leave when they expire.
create table grants (
  grant_id uuid primary key,
  client_id text not null,
  user_id uuid not null,
  scope text[] not null,
  audience text not null,
  redirect_uri text not null,
  code_challenge text,
  code_hash bytea not null unique,
  -- Read once, at Allow; every token of the grant gets a copy of these and never a newer number.
  user_generation integer not null,
  client_generation integer not null,
  created_at timestamptz not null,
  redeemed_at timestamptz,
  ended_at timestamptz,
  -- The absolute end of refreshing; set by the exchange.
  refreshable_until timestamptz,
  -- When the row may leave: soon if the code is never redeemed, else with the last token.
  expires_at timestamptz not null
);

create index grants_expires_at on grants (expires_at);

-- What a user has allowed to a client that is registered to remember it.
create table consents (
  user_id uuid not null references users on delete cascade,
  client_id text not null references clients on delete cascade,
  scope text[] not null,
  granted_at timestamptz not null,
  primary key (user_id, client_id)
);
