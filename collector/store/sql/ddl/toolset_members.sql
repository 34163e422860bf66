-- question: which tools does a toolset hold? The definition digest is empty where the definition is not known.
create table toolset_members (
    toolset_digest varchar not null,
    server varchar not null,
    tool varchar not null,
    definition_digest varchar not null
);
