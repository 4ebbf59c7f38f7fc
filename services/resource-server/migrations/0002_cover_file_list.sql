-- GET /v1/files answered from its indexes alone. Imports come in the order of directories and not of times, so that each
-- file of a page lies on another page of the table: 106 pages read for 100 files become 7. The price is about 60 MB an
-- index and million files. While an index is built (some seconds a million files) imports wait, and the list goes on
-- being read; the rest takes an instant.
create index files_listed on files (owner_id, created_at desc, file_id)
  include (name, mime_type, size, modified_at);
create index files_listed_by_kind on files (owner_id, kind, created_at desc, file_id)
  include (name, mime_type, size, modified_at);

drop index files_by_owner, files_by_owner_and_kind;

-- An index entry holds 2,704 bytes at most. No file system has longer names than 255 characters, and RFC 6838 §4.2 no
-- longer types. Times outside these years cannot be written by RFC 3339, as the list writes them. Not valid: that spares
-- reading the table; an import never stored such times, and the indexes above could not be built with longer names.
alter table files
  add constraint files_name_length check (octet_length(name) <= 1020) not valid,
  add constraint files_mime_type_length check (octet_length(mime_type) <= 255) not valid,
  add constraint files_created_at_range check (created_at >= '0001-01-01Z' and created_at < '10000-01-01Z') not valid,
  add constraint files_modified_at_range check (modified_at >= '0001-01-01Z' and modified_at < '10000-01-01Z') not valid;
