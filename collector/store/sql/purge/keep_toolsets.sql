-- question: which toolsets stay, and when were they seen first by a run that stays?
insert into purge_draft.toolsets by name
select toolset_digest, min(start_ns) as first_seen_ns
from purge_draft.spans
where record = 'toolset'
group by toolset_digest;
