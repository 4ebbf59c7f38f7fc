-- Apps that users register themselves (docs/adr/0034-users-register-apps.md). Each has a row in `clients`.
create table developer_apps (
  client_id text primary key references clients on delete cascade,
  -- The user who registered it; for the limit of apps, also after the app got other owners.
  created_by uuid references users on delete set null,
  position smallint not null check (position between 1 and 20),
  -- Raised by each change of what operators approve. An approval names the revision that the operator saw.
  revision integer not null default 1,
  -- When its owner asked for approval: of the app if it is not published, else of the change. Null: nothing waits.
  requested_at timestamptz,
  -- A change of a published app that is not in effect: name, redirect URIs, scopes and branding.
  pending jsonb,
  -- So that the logo of a pending change is not deleted.
  pending_logo text generated always as (pending #>> '{branding,logo}') stored references client_logos,
  -- The last decision of an operator, and why it was refused; null: it was approved.
  decided_at timestamptz,
  refusal text,
  unique (created_by, position)
);

create index developer_apps_requested_at on developer_apps (requested_at) where requested_at is not null;

create table app_owners (
  client_id text not null references developer_apps on delete cascade,
  user_id uuid not null references users on delete cascade,
  added_at timestamptz not null,
  primary key (client_id, user_id)
);

create index app_owners_user_id on app_owners (user_id);

-- Users who can also use an app that is not published. The owner of the app sees the name that they typed, so that they do not learn
-- which users exist.
create table app_testers (
  client_id text not null references developer_apps on delete cascade,
  username text not null,
  -- As for users.
  canonical_name text not null,
  -- The user with that name when they were added, who alone has the right. Null: there was none, or that user was deleted.
  user_id uuid references users on delete set null,
  position smallint not null check (position between 1 and 25),
  primary key (client_id, canonical_name),
  unique (client_id, position)
);

create index app_testers_user_id on app_testers (user_id, client_id);

-- Users become owners only when they accept, within 7 days. Name and user as for testers.
create table app_invitations (
  client_id text not null references developer_apps on delete cascade,
  username text not null,
  canonical_name text not null,
  user_id uuid references users on delete set null,
  -- The owner who invited; with `transfers`, this user is no owner any more when the other accepts.
  invited_by uuid not null references users on delete cascade,
  transfers boolean not null,
  invited_at timestamptz not null,
  position smallint not null check (position between 1 and 5),
  primary key (client_id, canonical_name),
  unique (client_id, position)
);

create index app_invitations_user_id on app_invitations (user_id);
create index app_invitations_invited_by on app_invitations (invited_by);

-- The names of these apps and of their pending changes, in the form in which look-alikes are equal: a new name is taken once, also
-- if two users ask for it at the same moment. Names that were different by earlier rules stay: all but one share the key.
create table app_names (
  name_key text not null,
  client_id text not null references developer_apps on delete cascade,
  is_shared boolean not null default false,
  primary key (name_key, client_id)
);
create unique index app_names_taken on app_names (name_key) where not is_shared;

create index developer_apps_pending_logo on developer_apps (pending_logo) where pending_logo is not null;
create index app_names_client_id on app_names (client_id);

-- How many apps a user registered on their last day of registering. Deleted apps count.
create table app_registrations (
  user_id uuid primary key references users on delete cascade,
  day date not null,
  count integer not null
);

-- An app whose last enabled owner is disabled or deleted is disabled by the same transaction, and its tokens end. The lock makes
-- two owners who are disabled at the same moment see each other: the statement after it reads what has been committed by then.
create function disable_orphaned_apps() returns trigger language plpgsql set search_path from current as $$
begin
  if tg_op = 'UPDATE' and (old.disabled_at is not null or new.disabled_at is null) then
    return new;
  end if;
  perform 1 from clients c where c.client_id in (select o.client_id from app_owners o where o.user_id = old.user_id)
    order by c.client_id for update;
  -- A new version of the client, so that an owner who leaves at the same moment is refused: that statement may still see this owner
  -- as enabled.
  update clients set name = name where client_id in (select o.client_id from app_owners o where o.user_id = old.user_id);
  with orphaned as (
    update clients c set disabled_at = now(), generation = c.generation + 1
    where c.disabled_at is null and c.client_id in (select o.client_id from app_owners o where o.user_id = old.user_id)
      and not exists (
        select from app_owners o join users u on u.user_id = o.user_id
        where o.client_id = c.client_id and o.user_id <> old.user_id and u.disabled_at is null)
    returning c.client_id)
  insert into audit_events (occurred_at, event, client_id, user_id, details)
  select now(), 'app_disabled', client_id, old.user_id, '{"reason": "last_owner_ended"}'::jsonb from orphaned;
  if tg_op = 'DELETE' then
    return old;
  end if;
  return new;
end $$;

create trigger disable_orphaned_apps before update of disabled_at or delete on users for each row
  execute function disable_orphaned_apps();

-- How many apps of an owner wait for approval; nothing is decided about a disabled one. Volatile: called by a statement that
-- holds the lock of the user, it also counts what has been committed since that statement began.
create function waiting_apps(owner uuid) returns bigint language sql volatile set search_path from current as $$
  select count(*) from developer_apps a join app_owners o using (client_id) join clients c using (client_id)
  where o.user_id = owner and a.requested_at is not null and c.disabled_at is null
$$;
