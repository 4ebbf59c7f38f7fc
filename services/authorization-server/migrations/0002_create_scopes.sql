create table scopes (
  name text primary key,
  title text not null,
  description text not null default '',
  built_in boolean not null default false,
  created_at timestamptz not null default now()
);

insert into scopes (name, title, description, built_in) values
  ('files.read', 'See the list of all your files', 'Names, sizes, types and dates of every file you keep here.', true),
  ('files.read:documents', 'See the list of your documents', 'Names, sizes, types and dates of your documents.', true),
  ('files.read:images', 'See the list of your images', 'Names, sizes, types and dates of your images.', true),
  ('files.read:media', 'See the list of your audio and video', 'Names, sizes, types and dates of your audio and video files.', true);
