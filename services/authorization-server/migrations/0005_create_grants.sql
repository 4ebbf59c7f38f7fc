-- A time that a process sends, if it is within 30 s of the present time; else the statement fails. Grants and tokens carry
-- times of the process that issues them, so a process with a wrong clock must not be able to write one
-- (docs/adr/0022-one-clock.md). Called as near_now(…, now()).
create function near_now(given timestamptz, present timestamptz) returns timestamptz language plpgsql stable as $$
begin
  if given < present - interval '30 seconds' or given > present + interval '30 seconds' then
    raise exception 'the process that wrote this believes that it is %', given
      using errcode = 'VKCLK', hint = 'Let NTP set the clock of its machine.';
  end if;
  return given;
end $$;

-- The generation of a user's authorization of a client, for all APIs. There is no row before its first end.
create table authorizations (
  user_id uuid not null references users on delete cascade,
  client_id text not null references clients on delete cascade,
  -- Raised when the user or an operator ends the client's access. The generation of the authorization is the sum of this number
  -- (0 without a row), users.authorization_generation and clients.authorization_generation. Each only grows, so two sums are
  -- equal exactly while none has grown (ADR 0005).
  generation integer not null default 0,
  primary key (user_id, client_id)
);

-- The deletion of a client would read all rows without it; housekeeping deletes up to 1,000 clients in a statement.
create index authorizations_client_id on authorizations (client_id);

-- What a user allowed a client for one API, and the consent page need not ask for again (ADR 0030).
create table consents (
  user_id uuid not null references users on delete cascade,
  client_id text not null references clients on delete cascade,
  audience text not null,
  scope text[] not null,
  -- Optional scopes that the user left out; nothing in `scope`. They are not asked for again by themselves.
  declined text[] not null default '{}',
  -- The greatest number of a scope that the user decided about: see scopes.number.
  newest_scope integer not null,
  granted_at timestamptz not null,
  -- The generation of the authorization when this was remembered. Nothing is remembered once it is another.
  authorization_generation integer not null default 0,
  primary key (user_id, client_id, audience)
);

-- As for authorizations.
create index consents_client_id on consents (client_id);

-- One row for each code that was exchanged. No foreign keys here and in the token tables (ADR 0008): a deleted user or client is
-- missing from the join of introspection, which ends all tokens in one write, and the rows are deleted when they expire.
create table grants (
  grant_id uuid primary key,
  client_id text not null,
  user_id uuid not null,
  scope text[] not null,
  -- Never changes.
  audience text not null,
  redirect_uri text not null,
  code_challenge text,
  -- Unique: a code opens one grant, even if Redis loses or restores its record of the code (ADR 0002).
  code_hash bytea not null unique,
  -- Read once, at Allow. Every token of the grant gets a copy of the first two, and never a newer number. The third is compared
  -- with the present one of the authorization: see authorizations.generation.
  user_generation integer not null,
  client_generation integer not null,
  authorization_generation integer not null default 0,
  created_at timestamptz not null,
  -- The greatest number of a scope in the request that the user allowed: see scopes.number.
  newest_scope integer not null,
  -- Null: the code has brought no tokens. A replay came before its exchange, or no client has the tokens of its exchange.
  redeemed_at timestamptz,
  -- The last time that a token of the grant was issued or introspected, to within an hour.
  last_used_at timestamptz,
  ended_at timestamptz,
  -- The absolute end of refreshing; set by the exchange.
  refreshable_until timestamptz,
  -- Earliest time of the next refresh, by the clock of Postgres. Each refresh adds a fixed interval; at most one burst may be
  -- saved. Null: never refreshed.
  refresh_allowed_from timestamptz,
  -- When the first tokens end. Housekeeping deletes the row then, or sets this to extended_until.
  expires_at timestamptz not null,
  -- When the last token of the refreshes ends. Null: never refreshed. No index holds this column or any other that a refresh or a
  -- use changes, so those updates write no index (heap-only tuples). test/flows/storage/statement-costs.test.ts checks that.
  extended_until timestamptz
-- Room on each page for the new versions of rows that a refresh or a use changes.
) with (fillfactor = 90);

create index grants_expires_at on grants (expires_at);
-- The oldest of a user and a client end when there are too many. ended_at comes first, because those that have ended may be many.
create index grants_user_id on grants (user_id, client_id, ended_at, created_at);
-- Which audiences a client has grants for, however many grants there are (for users: grants_user_id).
create index grants_client_id on grants (client_id, audience);
