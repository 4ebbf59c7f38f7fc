-- Whatever ends a token, and whoever does it, is announced to the revocation feed by the transaction that commits it: the
-- feed hears neither of a death that was rolled back nor of one too early. 'of' and 'when' keep it off the hot paths.

-- Rather fail, and be run again, than hold up every writer behind one that is stuck.
set local lock_timeout = '5s';

-- Arguments: the member of the announcement, and the column that holds its value.
create function announce_revocation() returns trigger language plpgsql as $$
begin
  perform pg_notify('valetkey_revocations', jsonb_build_object(tg_argv[0], to_jsonb(old) ->> tg_argv[1])::text);
  return null;
end $$;

create trigger announce_revoked after update of revoked_at on access_tokens for each row
  when (old.revoked_at is null and new.revoked_at is not null) execute function announce_revocation('jti', 'token_id');
-- Housekeeping deletes only what has expired.
create trigger announce_deleted after delete on access_tokens for each row
  when (old.revoked_at is null and old.expires_at > now()) execute function announce_revocation('jti', 'token_id');

create trigger announce_generation after update of generation on users for each row
  when (old.generation <> new.generation) execute function announce_revocation('sub', 'user_id');
create trigger announce_deleted after delete on users for each row
  execute function announce_revocation('sub', 'user_id');

create trigger announce_generation after update of generation on clients for each row
  when (old.generation <> new.generation) execute function announce_revocation('client_id', 'client_id');
create trigger announce_deleted after delete on clients for each row
  execute function announce_revocation('client_id', 'client_id');
