-- When a secret was last used, to within a few minutes: whether the old one can go.
-- Rather fail, and be run again, than hold up every writer behind one that is stuck.
set local lock_timeout = '5s';

alter table client_secrets add column last_used_at timestamptz;
alter table resource_servers add column last_used_at timestamptz;

-- A use is no change of what the processes keep in memory.
drop trigger announce_to_registry on client_secrets;
create trigger announce_to_registry after insert or delete or update of client_id, secret_hash, created_at, expires_at
  on client_secrets for each row execute function announce_registry_change('clients', 'client_id');
drop trigger announce_to_registry on resource_servers;
create trigger announce_to_registry
  after insert or delete or truncate or update of client_id, name, audience, secret_hash, created_at
  on resource_servers for each statement execute function announce_registry_change('resource_servers');
