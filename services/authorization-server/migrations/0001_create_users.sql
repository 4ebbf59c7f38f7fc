create table users (
  user_id uuid primary key,
  username text not null unique,
  password_hash text not null,
  -- Raised when the user is disabled or gets a new password: sessions and tokens with an older number are dead.
  generation integer not null default 0,
  created_at timestamptz not null,
  disabled_at timestamptz
);
