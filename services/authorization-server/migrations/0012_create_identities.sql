-- The identities with which a user can sign in through an OpenID provider or a login page. The key is (issuer, subject), never
-- an e-mail address or a user name, because a provider may give those to another person.
create table identities (
  issuer text not null,
  subject text not null,
  user_id uuid not null references users on delete cascade,
  created_at timestamptz not null,
  last_used_at timestamptz,
  primary key (issuer, subject)
);
create index identities_user on identities (user_id);

-- A provider reports a sign-out by subject or by its own session id (OpenID Connect Back-Channel Logout 1.0 §2.4).
create index sessions_provider_subject on sessions ((way ->> 'subject')) where way ->> 'kind' = 'provider';
create index sessions_provider_sid on sessions ((way ->> 'sid')) where way ->> 'kind' = 'provider';
