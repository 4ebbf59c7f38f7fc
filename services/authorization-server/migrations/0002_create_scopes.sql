-- Scopes are numbered in the order in which they are created. A number is never used again, so a scope that is deleted and created
-- again is another scope (docs/adr/0041-registration-decides.md).
create sequence scope_numbers as integer;

create table scopes (
  name text primary key,
  title text not null,
  description text not null default '',
  -- By language tag: {"de": {"title": "…", "description": "…"}}.
  translations jsonb not null default '{}',
  -- Operators may change the words of a built-in scope. They cannot delete it.
  built_in boolean not null default false,
  created_at timestamptz not null default now(),
  -- Resource identifier of the API that the scope belongs to; null: the default API, which is that of RESOURCE_URL. Migrations
  -- and commands do not know that setting (ADR 0030).
  audience text,
  -- Requested by a request without scope.
  is_default boolean not null default false,
  -- May be requested by clients that no operator registered.
  is_discoverable boolean not null default false,
  -- May be chosen by users for their own apps.
  is_self_service boolean not null default false,
  -- What a user allowed has the greatest number of its scopes (`newest_scope`). A scope with a greater number was not among them.
  number integer not null unique
);

-- A scope that gets another name or another API is another scope as well. The lock makes the numbers commit in their order. With
-- the owner's rights, so that the role of the service needs none on the sequence.
create function number_scope() returns trigger language plpgsql security definer as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('valetkey_scope_numbers', 0));
  new.number := nextval('scope_numbers');
  return new;
end $$;

do $$
begin
  execute format('alter function number_scope() set search_path = %I, pg_temp', current_schema());
end $$;

-- A row with a number comes from a backup.
create trigger number_new before insert on scopes for each row
  when (new.number is null) execute function number_scope();
create trigger number_moved before update of name, audience on scopes for each row
  when (old.name <> new.name or old.audience is distinct from new.audience) execute function number_scope();

insert into scopes (name, title, description, built_in, translations) values
  ('files.read', 'See the list of all your files', 'Names, sizes, types and dates of every file you keep here.', true, '{
    "de": {"title": "Die Liste aller Ihrer Dateien sehen", "description": "Namen, Größen, Arten und Datumsangaben aller Dateien, die Sie hier aufbewahren."},
    "ar": {"title": "رؤية قائمة جميع ملفاتك", "description": "أسماء كل الملفات التي تحفظها هنا وأحجامها وأنواعها وتواريخها."}
  }'),
  ('files.read:documents', 'See the list of your documents', 'Names, sizes, types and dates of your documents.', true, '{
    "de": {"title": "Die Liste Ihrer Dokumente sehen", "description": "Namen, Größen, Arten und Datumsangaben Ihrer Dokumente."},
    "ar": {"title": "رؤية قائمة مستنداتك", "description": "أسماء مستنداتك وأحجامها وأنواعها وتواريخها."}
  }'),
  ('files.read:images', 'See the list of your images', 'Names, sizes, types and dates of your images.', true, '{
    "de": {"title": "Die Liste Ihrer Bilder sehen", "description": "Namen, Größen, Arten und Datumsangaben Ihrer Bilder."},
    "ar": {"title": "رؤية قائمة صورك", "description": "أسماء صورك وأحجامها وأنواعها وتواريخها."}
  }'),
  ('files.read:media', 'See the list of your audio and video', 'Names, sizes, types and dates of your audio and video files.', true, '{
    "de": {"title": "Die Liste Ihrer Audio- und Videodateien sehen", "description": "Namen, Größen, Arten und Datumsangaben Ihrer Audio- und Videodateien."},
    "ar": {"title": "رؤية قائمة ملفاتك الصوتية والمرئية", "description": "أسماء ملفاتك الصوتية والمرئية وأحجامها وأنواعها وتواريخها."}
  }');
