-- question: from which traces do the spans of other instrumentations go, which name no run? From those in which no run stays:
--   by age where everything in the trace began before $before, else where a run of the trace goes.
create temp table gone_traces as
select spans.trace_id
from spans
left join gone_runs on gone_runs.run_id = spans.run_id
where spans.record is null or spans.record not in ('schema', 'toolset')
group by spans.trace_id
having
    bool_or(spans.record is null)
    and bool_and(spans.record is null or gone_runs.run_id is not null)
    and case
        when $before::bigint is null then bool_or(gone_runs.run_id is not null)
        else max(spans.start_ns) < $before::bigint
    end;
