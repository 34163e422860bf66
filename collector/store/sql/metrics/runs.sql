-- question: which runs are there, and how did each go?
-- numerator: `problems` = calls with outcome partial, business_rejected, rejected, pending, failed, unknown_commit or
--   cancelled, and calls that ran although an enforced gate denied them; `unclear` = the others with outcome indeterminate
-- denominator: `calls` and `decisions` of the run
-- grain: run; newest first, then those without known times by source, task and trial
-- excludes: nothing; `total` counts the runs before $limit cuts the list; $search is found in the run's id, task or agent
-- optional: source, search, limit
with decided as (
    select run_id, count(*) as decisions from decisions group by 1
),
called as (
    select
        run_id,
        count(*) as calls,
        count(*) filter (
            where outcome in ('partial', 'business_rejected', 'rejected', 'pending', 'failed', 'unknown_commit', 'cancelled')
                or (gate_state = 'rejected' and attempts > 0)
        ) as problems,
        count(*) filter (where outcome = 'indeterminate' and not (gate_state = 'rejected' and attempts > 0)) as unclear
    from calls group by 1
)
select
    r.run_id as run, r.source, r.task, r.trial, r.agent,
    r.run_outcome as outcome, r.outcome_source,
    coalesce(d.decisions, 0) as decisions,
    coalesce(c.calls, 0) as calls,
    coalesce(c.problems, 0) as problems,
    coalesce(c.unclear, 0) as unclear,
    r.week,
    case when r.time_known then r.started_ns end as started_ns,
    count(*) over () as total
from runs as r
left join decided as d on d.run_id = r.run_id
left join called as c on c.run_id = r.run_id
where ($source is null or r.source = $source)
    and (
        $search is null
        or position(lower($search) in lower(r.run_id)) > 0
        or position(lower($search) in lower(r.task)) > 0
        or position(lower($search) in lower(r.agent)) > 0
    )
order by
    r.time_known desc, case when r.time_known then -r.started_ns end,
    r.source, length(r.task), r.task, r.trial, r.run_id
limit $limit
