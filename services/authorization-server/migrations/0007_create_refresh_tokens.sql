create table refresh_tokens (
  token_hash bytea primary key,
  grant_id uuid not null,
  user_generation integer not null,
  client_generation integer not null,
  issued_at timestamptz not null,
  -- The end by idleness; never later than the grant's refreshable_until.
  expires_at timestamptz not null,
  predecessor_hash bytea,
  rotated_at timestamptz,
  -- For a short window after the rotation: the requested scope, and the response, encrypted with a key that only
  -- the holder of the old token can derive (ADR 0006). Erased when the successor is used.
  retry_until timestamptz,
  retry_scope text,
  retry_response bytea
);

create index refresh_tokens_expires_at on refresh_tokens (expires_at);
create index refresh_tokens_retry_until on refresh_tokens (retry_until) where retry_response is not null;
