-- The functions of 0012 run with the owner's rights. Where a role of the service may create functions beside them (as anybody
-- may in the schema "public" of Postgres 14 and before), it could offer one that fits a call of theirs better than Postgres's
-- own. Now they look nowhere but in Postgres's own schema, and name everything of ours in full.
set local lock_timeout = '5s';

do $migration$
begin
  execute format($make$
create or replace function %1$I.make_access_token_buckets(first_bucket integer, last_bucket integer) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $body$
declare
  home constant text := %1$L;
  bucket integer;
  bucket_table text;
  held record;
begin
  if first_bucket < 0 or last_bucket - first_bucket not between 0 and 23 then
    raise exception 'from 1 to 24 buckets at once, and none before 1970' using errcode = 'invalid_parameter_value';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('valetkey_access_token_buckets', 0));
  for bucket in first_bucket..last_bucket loop
    bucket_table := 'access_tokens_' || bucket;
    continue when to_regclass(format('%%I.%%I', home, bucket_table)) is not null;
    execute format(
      'create table %%1$I.%%2$I (
         primary key (token_hash),
         constraint %%3$I check (expires_at >= %%4$L::timestamptz and expires_at < %%5$L::timestamptz)
       ) inherits (%%1$I.access_tokens) with (autovacuum_enabled = false)',
      home, bucket_table, bucket_table || '_expires_at', to_timestamp(bucket * 3600.0), to_timestamp((bucket + 1) * 3600.0));
    execute format(
      'create trigger announce_revoked after update of revoked_at on %%1$I.%%2$I for each row
         when (old.revoked_at is null and new.revoked_at is not null)
         execute function %%1$I.announce_revocation(''jti'', ''token_id'')', home, bucket_table);
    execute format(
      'create trigger announce_deleted after delete on %%1$I.%%2$I for each row
         when (old.revoked_at is null and old.expires_at > now())
         execute function %%1$I.announce_revocation(''jti'', ''token_id'')', home, bucket_table);
    execute format(
      'create trigger keep_live before delete on %%1$I.%%2$I for each row
         when (old.expires_at > now()) execute function %%1$I.keep_live_token()', home, bucket_table);
    for held in
      select a.privilege_type, coalesce(quote_ident(r.rolname), 'public') as holder
      from pg_class c cross join aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
      where c.oid = format('%%I.access_tokens', home)::regclass and a.grantee <> c.relowner
    loop
      execute format('grant %%s on %%I.%%I to %%s', held.privilege_type, home, bucket_table, held.holder);
    end loop;
  end loop;
end $body$;
$make$, current_schema());

  execute format($drop$
create or replace function %1$I.drop_access_token_buckets(caller_now timestamptz) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '100ms' as $body$
declare
  home constant text := %1$L;
  bucket_table text;
  dropped integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('valetkey_access_token_buckets', 0)) then
    return 0;
  end if;
  for bucket_table in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = format('%%I.access_tokens', home)::regclass and c.relname ~ '^access_tokens_[0-9]+$'
      and to_timestamp((substring(c.relname from '[0-9]+$')::integer + 1) * 3600.0)
        <= least(caller_now, now()) - interval '10 minutes'
    order by c.relname limit 50
  loop
    begin
      execute format('lock table %%I.%%I in access exclusive mode nowait', home, bucket_table);
      execute format('drop table %%I.%%I', home, bucket_table);
      dropped := dropped + 1;
    exception when lock_not_available then
      -- The next turn, or another instance.
    end;
  end loop;
  return dropped;
end $body$;
$drop$, current_schema());
end $migration$;
