-- The directories that were imported for a user. A file belongs to one of them and is identified by its path inside it, so the
-- same files are found again when the directory is mounted or moved somewhere else.
create table import_roots (
  root_id uuid primary key,
  owner_id text not null,
  -- Where the directory was seen last: the bytes of its absolute path.
  path bytea not null
);
-- By hash, because a path may be too long for an index.
create unique index import_roots_path on import_roots (owner_id, sha256(path));

-- Null in rows of earlier releases: there source_path is absolute, and source_hash is that of the absolute path. The next
-- import of such a file gives it a root. With a root, source_path is the path inside it, and source_hash covers both.
alter table files add column root_id uuid;

-- Kinds that were wrong show names to apps that may not see them, so they do not wait for the next import. A file whose name has
-- several meanings is of no kind until the import has read its content.
update files set kind = 'other'
where kind in ('documents', 'images')
  and (mime_type ~ '^text/((x-)?vcard|directory|calendar|x-vcalendar|x-uuencode)$'
    or mime_type ~ '^application/(gpx|pskc|vnd\.google-earth\.kml|dash(-patch)?)\+xml$'
    or mime_type = 'image/x-3ds'
    or name ~* '\.(dot|key|mts|pot|sub|ts)$');
update files set kind = 'documents' where mime_type ~ '^image/vnd\.(djvu|ms-modi|dwg|dxf)$';
update files set kind = 'media' where mime_type ~ '^application/(pls|xspf)\+xml$';
