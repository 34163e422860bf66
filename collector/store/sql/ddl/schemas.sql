-- question: how was a tool defined when a model was shown it? One row a definition digest.
create table schemas (
    definition_digest varchar not null,
    schema_digest varchar,
    server varchar not null,
    tool varchar,
    tool_version varchar,
    definition varchar,
    side_effect varchar not null,
    idempotent varchar not null,
    first_seen_ns bigint not null
);
