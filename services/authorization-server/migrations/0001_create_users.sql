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
  -- Raised when the user is disabled or gets a new password: sessions and tokens with an older number have ended (ADR 0005).
  generation integer not null default 0,
  -- Raised by "sign out everywhere": sessions with an older number have ended, tokens stay valid (ADR 0014).
  session_generation integer not null default 0,
  -- Raised when an operator ends all grants of the user: see authorizations.generation.
  authorization_generation integer not null default 0,
  created_at timestamptz not null,
  -- Not indexed, so that a sign-in updates the row without index entries.
  last_signed_in_at timestamptz,
  disabled_at timestamptz
);

create index users_name_key on users (name_key);
