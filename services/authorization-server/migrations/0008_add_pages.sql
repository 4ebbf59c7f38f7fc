-- Raised by "sign out everywhere": sessions with an older number are dead, tokens live on.
alter table users add column session_generation integer not null default 0;

-- An operator has made sure who runs this client.
alter table clients add column verified_at timestamptz;

-- By language tag: {"de": {"title": "…", "description": "…"}}.
alter table scopes add column translations jsonb not null default '{}';

update scopes set translations = '{
  "de": {"title": "Die Liste aller Ihrer Dateien sehen", "description": "Namen, Größen, Arten und Daten aller Dateien, die Sie hier aufbewahren."},
  "ar": {"title": "رؤية قائمة جميع ملفاتك", "description": "أسماء كل الملفات التي تحفظها هنا وأحجامها وأنواعها وتواريخها."}
}' where name = 'files.read';
update scopes set translations = '{
  "de": {"title": "Die Liste Ihrer Dokumente sehen", "description": "Namen, Größen, Arten und Daten Ihrer Dokumente."},
  "ar": {"title": "رؤية قائمة مستنداتك", "description": "أسماء مستنداتك وأحجامها وأنواعها وتواريخها."}
}' where name = 'files.read:documents';
update scopes set translations = '{
  "de": {"title": "Die Liste Ihrer Bilder sehen", "description": "Namen, Größen, Arten und Daten Ihrer Bilder."},
  "ar": {"title": "رؤية قائمة صورك", "description": "أسماء صورك وأحجامها وأنواعها وتواريخها."}
}' where name = 'files.read:images';
update scopes set translations = '{
  "de": {"title": "Die Liste Ihrer Audio- und Videodateien sehen", "description": "Namen, Größen, Arten und Daten Ihrer Audio- und Videodateien."},
  "ar": {"title": "رؤية قائمة ملفاتك الصوتية والمرئية", "description": "أسماء ملفاتك الصوتية والمرئية وأحجامها وأنواعها وتواريخها."}
}' where name = 'files.read:media';

-- The last time that a token of the grant was issued or asked after, to within a few minutes.
alter table grants add column last_used_at timestamptz;

create index grants_user_id on grants (user_id, client_id);
