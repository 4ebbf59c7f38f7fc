-- Access tokens are stored in plain tables by the hours in which they end. access_tokens_<hours since 1970> has those that end in
-- this hour, or in some hours before it if lifetimes are long. It is dropped as a whole when this hour is over (ADR 0017). This table is their template: they inherit its columns and get its
-- privileges. It holds no rows itself; the check is not inherited.
create table access_tokens (
  token_hash bytea not null,
  token_id uuid not null,
  grant_id uuid not null,
  scope text[] not null,
  user_generation integer not null,
  client_generation integer not null,
  issued_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  constraint access_tokens_holds_no_rows check (false) no inherit
);

-- The two functions below run with the owner's rights, so that the role of the service need not be able to make or drop a
-- table. They look for names in pg_catalog only and name everything else in full: a caller that can create functions or temporary
-- tables cannot make them use these. <schema> is the schema that this migration runs in.
do $migration$
begin
  execute replace($function$
-- Creates missing tables.
create function make_access_token_buckets(first_bucket integer, last_bucket integer) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $body$
declare
  home constant text := <schema>;
  bucket integer;
  bucket_table text;
  held record;
begin
  if first_bucket < 0 or last_bucket - first_bucket not between 0 and 23 then
    raise exception 'from 1 to 24 buckets at once, and none before 1970' using errcode = 'invalid_parameter_value';
  end if;
  -- If several processes need a table, one creates it and the others wait.
  perform pg_advisory_xact_lock(hashtextextended('valetkey_access_token_buckets', 0));
  for bucket in first_bucket..last_bucket loop
    bucket_table := 'access_tokens_' || bucket;
    continue when to_regclass(format('%I.%I', home, bucket_table)) is not null;
    -- No vacuum for rows that are written once and dropped within hours, and no index on expires_at.
    execute format(
      'create table %1$I.%2$I (
         primary key (token_hash),
         constraint %3$I check (expires_at < %4$L::timestamptz)
       ) inherits (%1$I.access_tokens) with (autovacuum_enabled = false)',
      home, bucket_table, bucket_table || '_expires_at', to_timestamp((bucket + 1) * 3600.0));
    -- Neither triggers nor privileges are inherited.
    execute format(
      'create trigger announce_revoked after update of revoked_at on %1$I.%2$I for each row
         when (old.revoked_at is null and new.revoked_at is not null)
         execute function %1$I.announce_revocation(''jti'', ''token_id'')', home, bucket_table);
    execute format(
      'create trigger announce_deleted after delete on %1$I.%2$I for each row
         when (old.revoked_at is null and old.expires_at > now())
         execute function %1$I.announce_revocation(''jti'', ''token_id'')', home, bucket_table);
    execute format(
      'create trigger announce_reset after truncate on %1$I.%2$I for each statement
         execute function %1$I.announce_reset(''access_tokens'')', home, bucket_table);
    for held in
      select a.privilege_type, coalesce(quote_ident(r.rolname), 'public') as holder
      from pg_class c cross join aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
      where c.oid = format('%I.access_tokens', home)::regclass and a.grantee <> c.relowner
    loop
      execute format('grant %s on %I.%I to %s', held.privilege_type, home, bucket_table, held.holder);
    end loop;
  end loop;
end $body$;

-- Drops the tables whose hour has been over for ten minutes, by the given time and by the clock of Postgres: fifty at most, none
-- that is in use, and without waiting for a lock. Returns how many it dropped.
create function drop_access_token_buckets(caller_now timestamptz) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '100ms' as $body$
declare
  home constant text := <schema>;
  bucket_table text;
  dropped integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('valetkey_access_token_buckets', 0)) then
    return 0;
  end if;
  for bucket_table in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = format('%I.access_tokens', home)::regclass and c.relname ~ '^access_tokens_[0-9]+$'
      and to_timestamp((substring(c.relname from '[0-9]+$')::integer + 1) * 3600.0)
        <= least(caller_now, now()) - interval '10 minutes'
    order by c.relname limit 50
  loop
    begin
      execute format('lock table %I.%I in access exclusive mode nowait', home, bucket_table);
      execute format('drop table %I.%I', home, bucket_table);
      dropped := dropped + 1;
    exception when lock_not_available then
      -- The next call drops it, in this process or another.
    end;
  end loop;
  return dropped;
end $body$;
$function$, '<schema>', quote_literal(current_schema()));
end $migration$;

-- Only for the roles that write tokens. Where default privileges name the role of the service already, it gets the right here;
-- for a role that is named later see docs/databases.md.
revoke execute on function make_access_token_buckets(integer, integer), drop_access_token_buckets(timestamptz) from public;
do $$
declare
  holder text;
begin
  for holder in
    select distinct coalesce(quote_ident(r.rolname), 'public')
    from pg_class c cross join aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
    where c.oid = 'access_tokens'::regclass and a.privilege_type = 'INSERT' and a.grantee <> c.relowner
  loop
    execute format('grant execute on function make_access_token_buckets(integer, integer),
      drop_access_token_buckets(timestamptz) to %s', holder);
  end loop;
end $$;
