-- Whoever changes what the processes keep of clients, scopes and resource servers in memory, and however, tells them in the
-- transaction that does it. Only operators do so: what it costs is of no matter.

-- Rather fail, and be run again, than hold up every writer behind one that is stuck.
set local lock_timeout = '5s';

-- Arguments: the table of the announcement, and the column that names the row in it. Without the latter all of the table
-- is meant.
create function announce_registry_change() returns trigger language plpgsql as $$
begin
  if tg_level = 'STATEMENT' then
    perform pg_notify('valetkey_registry', jsonb_build_object('table', tg_argv[0])::text);
    return null;
  end if;
  -- A row that was given another key was one, and is another; Postgres drops an announcement that is repeated.
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

-- A secret is a part of its client.
create trigger announce_to_registry after insert or update or delete on client_secrets for each row
  execute function announce_registry_change('clients', 'client_id');
create trigger announce_truncated after truncate on client_secrets for each statement
  execute function announce_registry_change('clients');

-- Few, and read as a whole.
create trigger announce_to_registry after insert or update or delete or truncate on scopes for each statement
  execute function announce_registry_change('scopes');
create trigger announce_to_registry after insert or update or delete or truncate on resource_servers for each statement
  execute function announce_registry_change('resource_servers');
