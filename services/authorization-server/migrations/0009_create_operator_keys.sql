-- Credentials of the administration API. A revoked key is kept: the audit entries of its changes name it.
create table operator_keys (
  operator_key_id uuid primary key,
  name text not null,
  key_hash bytea not null unique,
  -- The key that made this one; null if the command line made it.
  created_by uuid references operator_keys,
  created_at timestamptz not null,
  -- To within a minute.
  last_used_at timestamptz,
  revoked_at timestamptz
);

-- A name identifies one of the keys that are valid.
create unique index operator_keys_live_name on operator_keys (name) where revoked_at is null;
create index operator_keys_created_by on operator_keys (created_by);

-- Revokes a key and all keys that were made with it, directly or not. One level after the other, because each statement in here
-- sees what was committed before it: a key that was being made while its parent was revoked is there when the lock on the
-- parent's row is free. A key that is made later finds its parent revoked.
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
