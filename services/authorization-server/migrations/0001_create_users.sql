create table users (
  user_id uuid primary key,
  -- Name at sign-in with a password, as it was entered. Every user has one, however they sign in.
  username text not null,
  -- The form of `username` in which names are compared (packages/sign-in-rules/src/canonical-name.ts). The service writes it:
  -- SQL has no full case folding before Postgres 18.
  canonical_name text not null unique,
  -- The form in which user names that look alike are equal (docs/adr/0046-look-alike-names.md), with the version of the rules.
  -- Not unique: operators and imports may create such users.
  name_key text,
  -- Null: the user cannot sign in with a password.
  password_hash text,
  -- Name as an identity provider gives it; refreshed at each sign-in with it.
  display_name text,
  -- Address for invitations and reset links, as an operator typed it. It does not identify the user.
  email text,
  -- Raised when the user is disabled or gets a new password: tokens with an older number have ended (ADR 0005).
  generation integer not null default 0,
  -- Raised when all sessions of the user end but no tokens do, such as by "sign out everywhere": a sign-in that read an older
  -- number opens no session (docs/adr/0014-signing-out-everywhere.md).
  session_generation integer not null default 0,
  -- Raised when an operator ends all grants of the user: see authorizations.generation.
  authorization_generation integer not null default 0,
  created_at timestamptz not null,
  -- Not indexed, so that a sign-in updates the row without index entries.
  last_signed_in_at timestamptz,
  disabled_at timestamptz
);

create index users_name_key on users (name_key);

-- A signed-in browser. The session ends with its row, at ends_at, or when it was not used for 12 hours.
create table sessions (
  -- SHA-256 of the id in the browser's cookie.
  session_hash bytea primary key check (octet_length(session_hash) = 32),
  user_id uuid not null references users on delete cascade,
  -- How the user signed in: SessionWay in src/storage/postgres/sessions.ts.
  way jsonb not null,
  signed_in_at timestamptz not null,
  -- When the user last gave a password, passkey or the like. Null if a provider does not say it.
  authenticated_at timestamptz,
  ends_at timestamptz not null,
  -- The last use, to within five minutes. No index holds this column, so its updates write no index (heap-only tuples).
  seen_at timestamptz not null,
  -- Browser and system, for the list of the user's sessions.
  browser text not null,
  -- ID token of the provider, encrypted with the id of the session.
  encrypted_id_token bytea
-- Room on each page for the new versions of rows that a use changes.
) with (fillfactor = 90);

create index sessions_user_id on sessions (user_id);
create index sessions_ends_at on sessions (ends_at);

-- All sessions of a user end by the transaction that ends them, whichever program runs it. The statements here read what has been
-- committed by now, and the transaction has the lock of the user, which each opening of a session takes as well. So no session that
-- opens at the same moment is left.
create function end_sessions() returns trigger language plpgsql set search_path from current as $$
begin
  delete from sessions where user_id = new.user_id;
  return null;
end $$;

create trigger end_sessions after update of generation, session_generation, disabled_at on users for each row
  when (old.generation <> new.generation or old.session_generation <> new.session_generation
    or (old.disabled_at is null and new.disabled_at is not null))
  execute function end_sessions();

-- At most 100 sessions for each user: a new one ends the oldest. The opening has the lock of the user, so sessions that open at
-- the same moment are counted.
create function end_oldest_sessions() returns trigger language plpgsql set search_path from current as $$
begin
  delete from sessions where session_hash in (
    select session_hash from sessions where user_id = new.user_id and session_hash <> new.session_hash
    order by signed_in_at desc offset 99);
  return null;
end $$;

create trigger end_oldest_sessions after insert on sessions for each row execute function end_oldest_sessions();
