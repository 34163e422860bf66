-- question: which runs did not reach their goal, and what went wrong first in each?
-- numerator: runs with outcome failure or abandoned, and runs of unknown outcome in which a call had a problem
-- denominator: `runs` of the query `totals`; `runs_judged` for those with outcome failure
-- grain: run with its first problem in call order; where no call has a problem the first indeterminate one, else
--   'task_failed_after_ok_calls' or 'task_failed_without_calls'
-- excludes: runs that succeeded or were handed off, whatever their calls did; skipped calls are no problem; `total` counts
--   the runs before $limit cuts the list
-- optional: source, week, limit
with ranked as (
    select
        call_id, run_id, decision_id, call_ordinal, server, tool, observation, error_class, outcome,
        outcome <> 'indeterminate' as problem,
        row_number() over (
            partition by run_id
            order by case when outcome = 'indeterminate' then 1 else 0 end, call_ordinal, t0_ns, call_id
        ) as place
    from calls
    where outcome in (
        'partial', 'business_rejected', 'rejected', 'pending', 'failed', 'unknown_commit', 'cancelled', 'indeterminate'
    )
),
counted as (
    select run_id, count(*) as calls from calls group by 1
),
troubled as (
    select run_id, count(*) filter (where problem) as problems from ranked group by 1
)
select
    r.run_id as run, r.source, r.task, r.trial, r.agent,
    r.run_outcome as outcome, r.outcome_source,
    coalesce(n.calls, 0) as calls,
    coalesce(t.problems, 0) as problems,
    case
        when p.call_id is not null then p.outcome
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
