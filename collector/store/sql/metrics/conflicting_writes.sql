-- question: which calls of a run wrote what another one was writing or reading at the same time?
-- numerator: pairs of calls of one run that share a resource which at least one of them writes, with an attempt each that
--   overlap in time
-- denominator: `calls` of the query `totals`
-- grain: pair of calls and resource, the call proposed first first; `kind` is 'write_write', or 'read_write' where one of them reads
-- excludes: calls of which it is not told what they read and write; attempts that never left the process, and those of which the
--   end is not known (open ones, records without times): nobody can tell whether they overlap
-- optional: source, run
with touched as (
    select run_id, source, call_id, call_ordinal, t0_ns, server, tool, true as writes, unnest(write_set) as resource
    from calls
    where ($source is null or source = $source) and ($run is null or run_id = $run)
    union all
    select run_id, source, call_id, call_ordinal, t0_ns, server, tool, false as writes, unnest(read_set) as resource
    from calls
    where ($source is null or source = $source) and ($run is null or run_id = $run)
),
ran as (
    select t.*, s.start_ns as begun_ns, s.end_ns as done_ns
    from touched as t
    join spans as s on s.call_id = t.call_id
    where s.record = 'attempt' and coalesce(s.attempt_status, 'open') <> 'open' and coalesce(s.time_known, true)
        and coalesce(s.sent, 'unknown') <> 'no'
)
select
    a.run_id as run, a.source, a.resource,
    case when bool_or(a.writes and b.writes) then 'write_write' else 'read_write' end as kind,
    a.call_id as call, a.call_ordinal, a.server, a.tool,
    b.call_id as other_call, b.call_ordinal as other_ordinal, b.server as other_server, b.tool as other_tool
from ran as a
join ran as b
    on b.run_id = a.run_id and b.resource = a.resource and b.call_id <> a.call_id
    and (a.t0_ns < b.t0_ns or (a.t0_ns = b.t0_ns and a.call_id < b.call_id))
    and (a.writes or b.writes)
    and a.begun_ns < b.done_ns and b.begun_ns < a.done_ns
group by 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12
order by 1, 6, 5, 10, 9, 3
