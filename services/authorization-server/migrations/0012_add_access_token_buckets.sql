-- Access tokens lie in one plain table for each hour in which they end, access_tokens_<hours since 1970>, which is dropped
-- as a whole when that hour is over (ADR 0017). These tables inherit from access_tokens, so that a release which knows
-- nothing of them sees and changes every token through it; what such a release writes stays in access_tokens itself.
set local lock_timeout = '5s';

-- The clean-up of the release before this one deletes rows by their place alone, which is unique in one table only: with
-- several it would take live tokens along. From that statement they are kept; a later release may drop this.
create function keep_live_token() returns trigger language plpgsql as $$
begin
  return case when current_query() like 'delete from access\_tokens where ctid = any%' then null else old end;
end $$;

create trigger keep_live before delete on access_tokens for each row
  when (old.expires_at > now()) execute function keep_live_token();

-- Makes the tables that are missing. The owner's rights, so that the service needs none to make or drop a table.
create function make_access_token_buckets(first_bucket integer, last_bucket integer) returns void
language plpgsql security definer as $$
declare
  bucket integer;
  bucket_table text;
  held record;
begin
  if first_bucket < 0 or last_bucket - first_bucket not between 0 and 23 then
    raise exception 'from 1 to 24 buckets at once, and none before 1970' using errcode = 'invalid_parameter_value';
  end if;
  -- Whoever needs one of them now waits for the other that makes it, and for nothing longer.
  perform pg_advisory_xact_lock(hashtextextended('valetkey_access_token_buckets', 0));
  for bucket in first_bucket..last_bucket loop
    bucket_table := 'access_tokens_' || bucket;
    continue when to_regclass(bucket_table) is not null;
    -- No vacuum for what is written once and dropped within hours, and no index on expires_at.
    execute format(
      'create table %I (
         primary key (token_hash),
         constraint %I check (expires_at >= %L::timestamptz and expires_at < %L::timestamptz)
       ) inherits (access_tokens) with (autovacuum_enabled = false)',
      bucket_table, bucket_table || '_expires_at', to_timestamp(bucket * 3600.0), to_timestamp((bucket + 1) * 3600.0));
    -- Neither triggers nor privileges are inherited.
    execute format(
      'create trigger announce_revoked after update of revoked_at on %I for each row
         when (old.revoked_at is null and new.revoked_at is not null)
         execute function announce_revocation(''jti'', ''token_id'')', bucket_table);
    execute format(
      'create trigger announce_deleted after delete on %I for each row
         when (old.revoked_at is null and old.expires_at > now())
         execute function announce_revocation(''jti'', ''token_id'')', bucket_table);
    execute format(
      'create trigger keep_live before delete on %I for each row
         when (old.expires_at > now()) execute function keep_live_token()', bucket_table);
    for held in
      select a.privilege_type, coalesce(quote_ident(r.rolname), 'public') as holder
      from pg_class c cross join aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
      where c.oid = 'access_tokens'::regclass and a.grantee <> c.relowner
    loop
      execute format('grant %s on %I to %s', held.privilege_type, bucket_table, held.holder);
    end loop;
  end loop;
end $$;

-- Drops the tables whose hour has been over for ten minutes by both clocks, the caller's and that of Postgres: fifty at
-- most, none that somebody is using, and without waiting for anybody. Gives how many went.
create function drop_access_token_buckets(caller_now timestamptz) returns integer
language plpgsql security definer as $$
declare
  bucket_table text;
  dropped integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('valetkey_access_token_buckets', 0)) then
    return 0;
  end if;
  for bucket_table in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'access_tokens'::regclass and c.relname ~ '^access_tokens_[0-9]+$'
      and to_timestamp((substring(c.relname from '[0-9]+$')::integer + 1) * 3600.0)
        <= least(caller_now, now()) - interval '10 minutes'
    order by c.relname limit 50
  loop
    begin
      execute format('lock table %I in access exclusive mode nowait', bucket_table);
      execute format('drop table %I', bucket_table);
      dropped := dropped + 1;
    exception when lock_not_available then
      -- The next turn, or another instance.
    end;
  end loop;
  return dropped;
end $$;

-- With the owner's rights, nothing that a caller made may be found before ours (pg_catalog always comes first); and no lock
-- is waited for long.
do $$
begin
  execute format('alter function make_access_token_buckets(integer, integer)
    set search_path = %I, pg_temp set lock_timeout = ''2s''', current_schema());
  execute format('alter function drop_access_token_buckets(timestamptz)
    set search_path = %I, pg_temp set lock_timeout = ''100ms''', current_schema());
end $$;

-- A role of the service that is not the owner is let in here; one that is made later, by operations.md.
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
