-- question: which spans go, by their place in the table? Schemas and toolsets are judged later, by who still uses them.
create temp table gone_spans as
select rowid as place
from spans
where case
    when record is null then trace_id in (select trace_id from gone_traces)
    when record in ('schema', 'toolset') then false
    else run_id in (select run_id from gone_runs) or coalesce(call_id in (select call_id from gone_calls), false)
end;
