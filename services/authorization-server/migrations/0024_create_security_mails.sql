-- Mails to users about new access of apps and new ways to sign in (docs/adr/0059-security-mails.md). With SECURITY_MAILS=off these
-- tables are empty.

-- Accesses that a user need not be told again.
create table told_accesses (
  user_id uuid not null references users on delete cascade,
  client_id text not null references clients on delete cascade,
  -- The API.
  audience text not null,
  -- As at Allow: an access that is allowed again after its end has another number, and is told again.
  authorization_generation integer not null,
  primary key (user_id, client_id, audience)
);

-- The deletion of a client would read all rows without it.
create index told_accesses_client_id on told_accesses (client_id);

-- What the next mail of each user says.
create table security_mails (
  user_id uuid primary key references users on delete cascade,
  -- At most 20, in the order in which they were added.
  notices jsonb not null default '[]' check (jsonb_array_length(notices) <= 20),
  -- Notices beyond these 20, of which the mail has the number only.
  omitted integer not null default 0,
  -- BCP 47, of the page on which the user last allowed an app. Null: never.
  language text,
  -- The next mail, or the next attempt, is not sent before.
  next_mail_at timestamptz not null,
  -- Null: there is nothing to send.
  waiting_since timestamptz,
  -- Attempts in a row that failed.
  failures integer not null default 0,
  -- Of the process that sends the mail. Another process may take it over at next_mail_at.
  claim uuid
);

create index security_mails_next_mail_at on security_mails (next_mail_at) where waiting_since is not null;

-- Until when changes are noted. Processes with SECURITY_MAILS=on extend it every minute.
create table security_mail_senders (
  is_only boolean primary key default true check (is_only),
  active_until timestamptz not null
);

create function add_security_notice(owner uuid, page_language text, notice jsonb) returns void
language plpgsql set search_path from current as $$
begin
  insert into security_mails as m (user_id, notices, language, next_mail_at, waiting_since)
  values (owner, jsonb_build_array(notice || jsonb_build_object('at', now())), page_language, now(), now())
  on conflict (user_id) do update set
    notices = case when jsonb_array_length(m.notices) < 20 then m.notices || excluded.notices else m.notices end,
    omitted = case when jsonb_array_length(m.notices) < 20 then m.omitted else m.omitted + 1 end,
    language = coalesce(excluded.language, m.language),
    waiting_since = coalesce(m.waiting_since, excluded.waiting_since);
end $$;

-- Notes a new way to sign in, by the transaction that adds it, whichever program runs it. A user who is created with it, or has no
-- address, gets no mail.
create function note_sign_in_change() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select from security_mail_senders where active_until > now())
    and exists (select from users where user_id = new.user_id and email is not null and created_at <> now()) then
    perform add_security_notice(new.user_id, null, case tg_table_name
      when 'passkeys' then jsonb_build_object('kind', 'passkey_added', 'name', to_jsonb(new) -> 'name')
      when 'identities' then jsonb_build_object('kind', 'identity_linked', 'issuer', to_jsonb(new) -> 'issuer')
      else jsonb_build_object('kind', 'password_changed') end);
  end if;
  return null;
end $$;

create trigger note_passkey after insert on passkeys for each row
  when (new.created_at = now()) execute function note_sign_in_change();

-- An identity that gets another subject keeps its time.
create trigger note_identity after insert on identities for each row
  when (new.created_at = now()) execute function note_sign_in_change();

-- A new hash of the same password ends no sessions.
create trigger note_password after update of password_hash on users for each row
  when (old.password_hash is distinct from new.password_hash
    and (old.generation <> new.generation or old.session_generation <> new.session_generation))
  execute function note_sign_in_change();
