-- question: which spans of the subject $subject are stored? Those of all runs of which any span names it, with those of other
--   instrumentations in traces that hold no other run.
with mine as (
    select distinct run_id from spans where subject = $subject and run_id is not null
),
own as (
    select call_id, trace_id from spans where record is not null and run_id in (select run_id from mine)
),
shared as (
    select trace_id
    from spans
    where record is not null and record not in ('schema', 'toolset') and run_id not in (select run_id from mine)
)
select *
from spans
where case
    when record is null then trace_id in (select trace_id from own) and trace_id not in (select trace_id from shared)
    else
        run_id in (select run_id from mine)
        or (record not in ('schema', 'toolset') and call_id in (select call_id from own where call_id is not null))
end
order by start_ns, trace_id, span_id
