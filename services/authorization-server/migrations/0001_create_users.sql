create table users (
  user_id uuid primary key,
  username text not null unique,
  password_hash text not null,
  -- Raised when the user is disabled or gets a new password: sessions and tokens with an older number have ended (ADR 0005).
  generation integer not null default 0,
  -- Raised by "sign out everywhere": sessions with an older number have ended, tokens stay valid (ADR 0014).
  session_generation integer not null default 0,
  -- Raised when an operator ends all grants of the user: see consents.generation.
  authorization_generation integer not null default 0,
  created_at timestamptz not null,
  disabled_at timestamptz
);
