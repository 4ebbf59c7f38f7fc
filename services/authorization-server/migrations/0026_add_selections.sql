-- Scopes that give access only to what the user chooses on a page of the API (docs/adr/0062-selections.md).

alter table scopes add column selects boolean not null default false;
create unique index scopes_selects on scopes (coalesce(audience, '')) where selects;

-- What the user chose: a list of {"type", "identifier", "summary"}. Null: the scope of the grant has none that selects, or the grant
-- is older. The exchange sets it; only the summary changes later.
alter table grants add column authorization_details jsonb;

-- An operator may have a scope with this name.
insert into scopes (name, title, description, built_in, selects, translations) values
  ('files.selected', 'See only the files that you choose', 'Their names, sizes, types and dates.', true, true, '{
    "de": {"title": "Nur Dateien sehen, die Sie auswählen", "description": "Jeweils Name, Größe, Art und Datum."},
    "ar": {"title": "رؤية الملفات التي تختارها فقط", "description": "أسماؤها وأحجامها وأنواعها وتواريخها."}
  }')
on conflict (name) do nothing;
