-- question: which spans of the run $run are stored, with those of other instrumentations in traces that hold no other run?
with own as (
    select call_id, trace_id from spans where record is not null and run_id = $run
),
shared as (
    select trace_id from spans where record is not null and record not in ('schema', 'toolset') and run_id <> $run
)
select *
from spans
where case
    when record is null then trace_id in (select trace_id from own) and trace_id not in (select trace_id from shared)
    else run_id = $run or (record not in ('schema', 'toolset') and call_id in (select call_id from own where call_id is not null))
end
order by start_ns, trace_id, span_id
