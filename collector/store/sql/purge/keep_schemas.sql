-- question: which tool definitions stay, and when were they seen first by a run that stays?
insert into purge_draft.schemas by name
with staying as (
    select definition_digest, min(start_ns) as first_seen_ns
    from purge_draft.spans
    where record = 'schema'
    group by definition_digest
)
select schemas.* replace (staying.first_seen_ns as first_seen_ns)
from schemas
inner join staying on staying.definition_digest = schemas.definition_digest;
