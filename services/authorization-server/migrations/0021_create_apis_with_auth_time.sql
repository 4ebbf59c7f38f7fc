-- The APIs whose introspection says when the user signed in (auth_time, RFC 9470 §6.2; docs/adr/0056-step-up-by-age.md). The mark
-- belongs to the API and not to one of its credentials, which come and go.
create table apis_with_auth_time (
  -- As in resource_servers.
  audience text primary key
);

-- The processes keep it with the resource servers (0011_announce_registry_changes.sql).
create trigger announce_to_registry after insert or update or delete or truncate on apis_with_auth_time for each statement
  execute function announce_registry_change('resource_servers');

-- An API whose last credential is deleted loses its mark. forget_deleted_api runs before, by its name, and has the lock of the API.
create function forget_auth_time() returns trigger language plpgsql security definer as $$
begin
  if not exists (select 1 from resource_servers r where r.audience = old.audience) then
    delete from apis_with_auth_time where audience = old.audience;
  end if;
  return null;
end $$;

do $$
begin
  execute format('alter function forget_auth_time() set search_path = %I, pg_temp', current_schema());
end $$;

create trigger forget_deleted_api_auth_time after delete or update of audience on resource_servers for each row
  execute function forget_auth_time();

-- When the user signed in, as it was at Allow. A refresh never changes it. Null: the API did not ask for it then, or the way to
-- sign in does not say it.
alter table grants add column authenticated_at timestamptz;
