create table resource_servers (
  client_id text primary key,
  name text not null,
  -- The resource identifier (RFC 8707). Several credentials may share one.
  audience text not null,
  secret_hash bytea not null,
  created_at timestamptz not null,
  -- To within a few minutes.
  last_used_at timestamptz,
  -- The name of the API on pages for users; null: they show the host of the audience.
  title text,
  -- The audience in the form in which identifiers are compared (RFC 3986 §6.2.2.1, §6.2.3).
  normal_audience text not null
);

-- An API has one identifier, so that `aud`, grants and consents always have the same text. The lock makes two credentials that
-- are created at the same time see each other.
create function refuse_other_spelling() returns trigger language plpgsql set search_path from current as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('valetkey_audience ' || new.normal_audience, 0));
  if exists (select 1 from resource_servers r
      where r.normal_audience = new.normal_audience and r.audience <> new.audience) then
    raise unique_violation using message = 'the audience is registered in another spelling';
  end if;
  return new;
end $$;

create trigger refuse_other_spelling before insert or update of audience, normal_audience on resource_servers
  for each row execute function refuse_other_spelling();

-- An API whose last credential is deleted is deleted: its scopes get new numbers, so users must allow them again if the API returns.
-- The lock makes two credentials that are deleted at the same time see each other.
create function forget_deleted_api() returns trigger language plpgsql security definer as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('valetkey_audience ' || old.normal_audience, 0));
  if not exists (select 1 from resource_servers r where r.audience = old.audience)
      and exists (select 1 from scopes s where s.audience = old.audience) then
    perform pg_advisory_xact_lock(hashtextextended('valetkey_scope_numbers', 0));
    update scopes set number = nextval('scope_numbers') where audience = old.audience;
  end if;
  return null;
end $$;

do $$
begin
  execute format('alter function forget_deleted_api() set search_path = %I, pg_temp', current_schema());
end $$;

create trigger forget_deleted_api after delete or update of audience on resource_servers for each row
  execute function forget_deleted_api();

create index resource_servers_audience on resource_servers (audience);
