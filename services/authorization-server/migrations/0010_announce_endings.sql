-- Everything that ends a token is announced on the channel valetkey_revocations, by the transaction that ends it, whichever
-- program runs it (ADR 0015). A transaction that rolls back announces nothing. `of` and `when` avoid triggers for statements
-- that end nothing. The tables of access tokens get their triggers when they are created.

-- Announces {"jti": …, "audience": …}, {"grant_id": …, "audience": …}, {"sub": …} or {"client_id": …}. The audience is that
-- of the grant, so that each resource server receives only the events of its own tokens.
-- Arguments: the member that names what has ended, and the column that holds its value.
create function announce_revocation() returns trigger language plpgsql as $$
declare
  ended constant jsonb := coalesce(to_jsonb(old), to_jsonb(new));
  announcement jsonb := jsonb_build_object(tg_argv[0], ended ->> tg_argv[1]);
  audience text;
begin
  if tg_argv[0] = 'grant_id' then
    audience := ended ->> 'audience';
  elsif tg_argv[0] = 'jti' then
    select g.audience into audience from grants g where g.grant_id = (ended ->> 'grant_id')::uuid;
  end if;
  -- Users and clients have no audience, and the grant of a token may be deleted: each process finds out which resource servers
  -- to notify. The same holds for an audience that is too long for a notification (8,000 bytes; escaping may multiply its length).
  if octet_length(audience) <= 1000 then
    announcement := announcement || jsonb_build_object('audience', audience);
  end if;
  perform pg_notify('valetkey_revocations', announcement::text);
  return null;
end $$;

-- It finds the table of grants here, with any search path of the statement that ends access.
do $$
begin
  execute format('alter function announce_revocation() set search_path = %I, pg_temp', current_schema());
end $$;

create trigger announce_generation after update of generation on users for each row
  when (old.generation <> new.generation) execute function announce_revocation('sub', 'user_id');
create trigger announce_deleted after delete on users for each row
  execute function announce_revocation('sub', 'user_id');

create trigger announce_generation after update of generation on clients for each row
  when (old.generation <> new.generation) execute function announce_revocation('client_id', 'client_id');
create trigger announce_deleted after delete on clients for each row
  execute function announce_revocation('client_id', 'client_id');

create trigger announce_ended after update of ended_at on grants for each row
  when (old.ended_at is null and new.ended_at is not null) execute function announce_revocation('grant_id', 'grant_id');
-- Housekeeping deletes expired grants only.
create trigger announce_deleted after delete on grants for each row
  when (old.ended_at is null and greatest(old.expires_at, old.extended_until) > now())
  execute function announce_revocation('grant_id', 'grant_id');

-- What ends by the generation of an authorization is not named, so each guard deletes its cached results of the user or the
-- client and introspects again.
create trigger announce_authorization after update of authorization_generation on users for each row
  when (old.authorization_generation <> new.authorization_generation)
  execute function announce_revocation('sub', 'user_id');
create trigger announce_authorization after update of authorization_generation on clients for each row
  when (old.authorization_generation <> new.authorization_generation)
  execute function announce_revocation('client_id', 'client_id');
create trigger announce_authorization after update of generation on authorizations for each row
  when (old.generation <> new.generation) execute function announce_revocation('sub', 'user_id');
create trigger announce_first_ending after insert on authorizations for each row
  when (new.generation > 0) execute function announce_revocation('sub', 'user_id');

-- Nor are scopes named that a client has lost.
create trigger announce_scopes after update of required_scopes, optional_scopes, audiences on clients for each row
  when (not (
    (old.required_scopes || old.optional_scopes) <@ (new.required_scopes || new.optional_scopes)
    and (old.required_scopes || old.optional_scopes) @> (new.required_scopes || new.optional_scopes)
    and old.audiences = new.audiences))
  execute function announce_revocation('client_id', 'client_id');

-- `truncate` fires no trigger of a row. A truncated table is announced as {"reset": …}: every process ends the streams of its
-- feed, so that each guard deletes its cached results, and reads its registry again.
-- Argument: the table. A table of access tokens names its parent, so that one statement announces one reset.
create function announce_reset() returns trigger language plpgsql as $$
begin
  perform pg_notify('valetkey_revocations', jsonb_build_object('reset', tg_argv[0])::text);
  return null;
end $$;

-- A scope that is deleted, or becomes another one, may be a part of any token, and operators change few. A reset is simpler than the
-- names of all clients that have the scope.
create trigger announce_deleted after delete on scopes for each row
  execute function announce_reset('scopes');
create trigger announce_changed after update on scopes for each row
  when (old.number <> new.number or old.is_discoverable <> new.is_discoverable)
  execute function announce_reset('scopes');
create trigger announce_reset after truncate on scopes for each statement
  execute function announce_reset('scopes');

create trigger announce_reset after truncate on users for each statement
  execute function announce_reset('users');
create trigger announce_reset after truncate on clients for each statement
  execute function announce_reset('clients');
create trigger announce_reset after truncate on grants for each statement
  execute function announce_reset('grants');
create trigger announce_reset after truncate on refresh_tokens for each statement
  execute function announce_reset('refresh_tokens');
create trigger announce_reset after truncate on access_tokens for each statement
  execute function announce_reset('access_tokens');
