-- What opens the administration API. A revoked key stays: the audit entries of its changes name it.
create table operator_keys (
  operator_key_id uuid primary key,
  name text not null,
  key_hash bytea not null unique,
  created_at timestamptz not null,
  -- To within a minute.
  last_used_at timestamptz,
  revoked_at timestamptz
);

-- A name says which of the live keys it is.
create unique index operator_keys_live_name on operator_keys (name) where revoked_at is null;
