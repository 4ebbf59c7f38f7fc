-- The processes keep clients, scopes and resource servers in memory (ADR 0016). Every change of these tables is announced on
-- the channel valetkey_registry, by the transaction that makes it, whichever program runs it. Only operators change them, so the
-- cost of a change does not matter.

-- Arguments: the table of the announcement, and the column that identifies the row in it. Without the latter the whole table
-- is meant.
create function announce_registry_change() returns trigger language plpgsql as $$
begin
  if tg_level = 'STATEMENT' then
    perform pg_notify('valetkey_registry', jsonb_build_object('table', tg_argv[0])::text);
    return null;
  end if;
  -- A changed key concerns two rows. Where both keys are the same, Postgres drops the second announcement.
  if tg_op <> 'INSERT' then
    perform pg_notify('valetkey_registry', jsonb_build_object('table', tg_argv[0], 'key', to_jsonb(old) ->> tg_argv[1])::text);
  end if;
  if tg_op <> 'DELETE' then
    perform pg_notify('valetkey_registry', jsonb_build_object('table', tg_argv[0], 'key', to_jsonb(new) ->> tg_argv[1])::text);
  end if;
  return null;
end $$;

create trigger announce_to_registry after insert or update or delete on clients for each row
  execute function announce_registry_change('clients', 'client_id');
create trigger announce_truncated after truncate on clients for each statement
  execute function announce_registry_change('clients');

-- A secret is a part of its client. Its last use is not cached, nor is that of a resource server's secret.
create trigger announce_to_registry after insert or delete or update of client_id, secret_hash, created_at, expires_at
  on client_secrets for each row execute function announce_registry_change('clients', 'client_id');
create trigger announce_truncated after truncate on client_secrets for each statement
  execute function announce_registry_change('clients');

-- These are few, and are read as a whole.
create trigger announce_to_registry after insert or update or delete or truncate on scopes for each statement
  execute function announce_registry_change('scopes');
create trigger announce_to_registry
  after insert or delete or truncate or update of client_id, name, title, audience, secret_hash, created_at
  on resource_servers for each statement execute function announce_registry_change('resource_servers');
