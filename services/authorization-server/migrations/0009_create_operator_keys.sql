-- Credentials of the administration API. A revoked key is kept: the audit entries of its changes name it.
create table operator_keys (
  operator_key_id uuid primary key,
  name text not null,
  key_hash bytea not null unique,
  -- The key that created this one; null: created by a command.
  created_by uuid references operator_keys,
  created_at timestamptz not null,
  -- To within a minute.
  last_used_at timestamptz,
  revoked_at timestamptz
);

-- A name identifies one of the keys that are valid.
create unique index operator_keys_live_name on operator_keys (name) where revoked_at is null;
create index operator_keys_created_by on operator_keys (created_by);

-- Revokes a key and all keys that were created with it, directly or not. Level by level, so that keys created concurrently are
-- included: each statement sees what was committed before it, and creating a key locks its parent's row. Later the parent is
-- revoked, and creates none.
create function revoke_operator_keys(root uuid) returns setof operator_keys language plpgsql as $$
declare
  level uuid[] := array[root];
begin
  while cardinality(level) > 0 loop
    return query update operator_keys k set revoked_at = now()
      where k.operator_key_id = any (level) and k.revoked_at is null returning k.*;
    level := array(select k.operator_key_id from operator_keys k where k.created_by = any (level));
  end loop;
end $$;
