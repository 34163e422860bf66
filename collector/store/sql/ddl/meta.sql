-- question: which schema version wrote this file, and which rules judged its calls?
create table meta (
    key varchar not null,
    value varchar not null
);
