-- question: which toolsets are known, the empty one too?
create table toolsets (
    toolset_digest varchar not null,
    first_seen_ns bigint not null
);
