-- question: how do schemas and toolsets stay that a run which goes had sent first? As if their heir had sent them.
insert into purge_draft.spans by name
select spans.* replace (
    heirs.heir.run_id as run_id,
    heirs.heir.subject as subject,
    heirs.heir.source as source,
    heirs.heir.time_known as time_known,
    heirs.heir.service as service,
    heirs.heir.week as week,
    heirs.heir.start_ns as start_ns,
    heirs.heir.start_ns as end_ns
)
from spans
inner join heirs on heirs.place = spans.rowid
order by spans.rowid;
