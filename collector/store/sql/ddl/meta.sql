-- question: which schema version wrote this file, which rules judged its calls, and how long may an attempt be open?
create table meta (
    key varchar not null,
    value varchar not null
);
