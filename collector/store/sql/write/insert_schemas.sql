-- question: which tool definitions are new with the group `incoming`?
insert into schemas by name
select
    definition_digest,
    schema_digest,
    coalesce(server, '') as server,
    tool,
    tool_version,
    definition,
    coalesce(side_effect, 'unknown') as side_effect,
    coalesce(idempotent, 'unknown') as idempotent,
    start_ns as first_seen_ns
from incoming
where record = 'schema' and definition_digest is not null;
