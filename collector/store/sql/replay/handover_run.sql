-- question: what ended the run $run, and how many calls of it changed nothing anyway?
with own as (
    select
        count(*) as calls,
        coalesce(sum(attempts), 0)::bigint as attempts,
        count(*) filter (where side_effect = 'read') as reading,
        count(*) filter (where side_effect = 'read' and outcome in ('succeeded', 'partial', 'empty')) as read_well
    from calls
    where run_id = $run
)
select
    r.run_id, r.source, r.task, r.session, r.agent, r.run_outcome, r.outcome_source, r.stopped_by,
    r.has_run_span, r.time_known, r.started_ns, r.ended_ns, o.calls, o.attempts, o.reading, o.read_well
from runs as r
cross join own as o
where r.run_id = $run
