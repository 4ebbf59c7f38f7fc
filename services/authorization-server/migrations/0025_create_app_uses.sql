-- What apps did with the access that users gave them, as sums that APIs report (docs/adr/0060-activity.md). No file names and no
-- addresses.

-- The actions that each API may report. They belong to the API and not to one of its credentials, which come and go.
create table api_actions (
  api_id integer generated always as identity primary key,
  -- As in resource_servers; null: built in, for the default API, which is that of RESOURCE_URL.
  audience text unique,
  -- By the name of the action, with texts for users: {"list_files": {"title": "…", "translations": {"de": "…"}}}.
  actions jsonb not null check (jsonb_typeof(actions) = 'object')
);

insert into api_actions (audience, actions) values (null, '{
  "list_files": {"title": "Listed files", "translations": {"de": "Dateien aufgelistet", "ar": "سرد الملفات"}}
}');

-- An API whose last credential is deleted loses its actions. forget_deleted_api runs before, by its name, and has the lock of the API.
create function forget_actions() returns trigger language plpgsql security definer as $$
begin
  if not exists (select 1 from resource_servers r where r.audience = old.audience) then
    delete from api_actions where audience = old.audience;
  end if;
  return null;
end $$;

do $$
begin
  execute format('alter function forget_actions() set search_path = %I, pg_temp', current_schema());
end $$;

create trigger forget_deleted_api_actions after delete or update of audience on resource_servers for each row
  execute function forget_actions();

-- By user and client, because grants are deleted when they expire. No foreign keys, as the table grows with use
-- (docs/adr/0008-no-foreign-keys.md).
create table app_uses (
  user_id uuid not null,
  client_id text not null,
  -- Of api_actions. The use is not shown without its row, nor if the row has no such action.
  api_id integer not null,
  action text not null check (octet_length(action) <= 64),
  -- In UTC.
  day date not null,
  -- How many items, such as files.
  items bigint not null check (items >= 0),
  last_at timestamptz not null,
  primary key (user_id, client_id, api_id, action, day)
-- Room on each page for the new versions of rows that a report changes: no index holds items and last_at.
) with (fillfactor = 90);

create index app_uses_day on app_uses (day);

create function forget_app_uses() returns trigger language plpgsql set search_path from current as $$
begin
  delete from app_uses where user_id = old.user_id;
  return null;
end $$;

create trigger forget_app_uses after delete on users for each row execute function forget_app_uses();

-- The reports of the last two hours, so that a report that is sent again counts once.
create table use_reports (
  -- The credential that sent it.
  client_id text not null,
  report_id text not null check (octet_length(report_id) <= 64),
  received_at timestamptz not null,
  primary key (client_id, report_id)
);

create index use_reports_received_at on use_reports (received_at);
