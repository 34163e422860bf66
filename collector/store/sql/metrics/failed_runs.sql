-- question: which runs did not reach their goal, and what went wrong first in each?
-- numerator: runs with outcome failure or abandoned, and runs of unknown outcome in which a call had a problem
-- denominator: `runs` of the query `totals`; `runs_judged` for those with outcome failure
-- grain: run with its first problem in call order: the call's outcome, or 'ran_although_denied' where it was attempted
--   although an enforced gate denied it; where no call has a problem the first indeterminate one (they are counted in
--   `unclear`), else 'task_failed_after_ok_calls' or 'task_failed_without_calls'; newest first, then those without known
--   times by source, task and trial
-- excludes: runs that succeeded or were handed off, whatever their calls did; skipped calls are no problem; `total` counts
--   the runs before $limit cuts the list
-- optional: source, week, limit
with named as (
    select
        call_id, run_id, decision_id, call_ordinal, server, tool, observation, error_class, t0_ns,
        case when gate_state = 'rejected' and attempts > 0 then 'ran_although_denied' else outcome end as what
    from calls
),
ranked as (
    select
        *,
        what <> 'indeterminate' as problem,
        row_number() over (
            partition by run_id
            order by case when what = 'indeterminate' then 1 else 0 end, call_ordinal, t0_ns, call_id
        ) as place
    from named
    where what in (
        'partial', 'business_rejected', 'rejected', 'pending', 'failed', 'unknown_commit', 'cancelled', 'indeterminate',
        'ran_although_denied'
    )
),
counted as (
    select run_id, count(*) as calls from calls group by 1
),
troubled as (
    select run_id, count(*) filter (where problem) as problems, count(*) filter (where not problem) as unclear
    from ranked group by 1
)
select
    r.run_id as run, r.source, r.task, r.trial, r.agent,
    r.run_outcome as outcome, r.outcome_source,
    coalesce(n.calls, 0) as calls,
    coalesce(t.problems, 0) as problems,
    coalesce(t.unclear, 0) as unclear,
    case
        when p.call_id is not null then p.what
        when n.calls > 0 then 'task_failed_after_ok_calls'
        else 'task_failed_without_calls'
    end as first_problem,
    p.server, p.tool, p.observation, p.error_class,
    p.call_id as call, p.decision_id as decision, p.call_ordinal,
    r.week,
    case when r.time_known then r.started_ns end as started_ns,
    count(*) over () as total
from runs as r
left join counted as n on n.run_id = r.run_id
left join troubled as t on t.run_id = r.run_id
left join ranked as p on p.run_id = r.run_id and p.place = 1
where (r.run_outcome in ('failure', 'abandoned') or (r.run_outcome = 'unknown' and t.problems > 0))
    and ($source is null or r.source = $source) and ($week is null or r.week = $week)
order by
    r.time_known desc, case when r.time_known then -r.started_ns end,
    r.source, length(r.task), r.task, r.trial, r.run_id
limit $limit
