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
